// A real server with the default memory, for the time of a test file.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

export class Server {
  url = "";
  #process: ChildProcess | undefined;
  readonly #home = mkdtempSync(join(tmpdir(), "memorywire-ts-"));

  async start(port = 0): Promise<this> {
    const python = process.env.PYTHON ?? `${ROOT}.venv/bin/python`;
    const words = ["-m", "memorywire", "serve", "--port", String(port), "--json", "--quiet"];
    const env = { ...process.env, MEMORYWIRE_HOME: this.#home, PYTHONUNBUFFERED: "1" };
    this.#process = spawn(python, words, { env, stdio: ["ignore", "pipe", "inherit"] });
    for await (const line of createInterface({ input: this.#process.stdout! })) {
      this.url = (JSON.parse(line) as { url: string }).url;
      return this;
    }
    throw new Error("the server ended before it listened");
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process?.once("exit", resolve));
    this.#process?.kill("SIGTERM");
    await ended;
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.#home, { recursive: true, force: true });
  }
}
