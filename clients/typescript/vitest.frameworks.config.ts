import { defineConfig } from "vitest/config";

export default defineConfig({ test: { include: ["tests/frameworks/*.test.ts"], testTimeout: 120_000, hookTimeout: 300_000 } });
