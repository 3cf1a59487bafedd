"""Kinds chosen after the rules were done, to see what the rules make of issuers nobody had in mind."""

from tests.redaction.corpus.shapes import Kind

_UUID = "{hex:8}-{hex:4}-4{hex:3}-a{hex:3}-{hex:12}"

KINDS = (
    Kind("asana", "1/{digit:16}:{hex:32}", "Asana", "ASANA_TOKEN"),
    Kind("buildkite", "bkua_{hex:40}", "Buildkite", "BUILDKITE_TOKEN"),
    Kind("contentful", "CFPAT-{url:43}", "Contentful", "CONTENTFUL_TOKEN"),
    Kind("dropbox", "sl.{url:138}", "Dropbox", "DROPBOX_TOKEN"),
    Kind("flutterwave", "FLWSECK_TEST-{hex:32}-X", "Flutterwave", "FLW_SECRET_KEY"),
    Kind("gocardless", "live_{url:40}", "GoCardless", "GC_ACCESS_TOKEN"),
    Kind("hubspot", f"pat-na1-{_UUID}", "HubSpot", "HUBSPOT_TOKEN"),
    Kind("jfrog", "AKCp{alnum:69}", "Artifactory", "ARTIFACTORY_API_KEY"),
    Kind("launchdarkly", f"sdk-{_UUID}", "LaunchDarkly", "LD_SDK_KEY"),
    Kind("mapbox", "sk.eyJ{url:80}.{url:22}", "Mapbox", "MAPBOX_TOKEN"),
    Kind("plaid", f"access-production-{_UUID}", "Plaid", "PLAID_ACCESS_TOKEN"),
    Kind("prefect", "pnu_{alnum:36}", "Prefect", "PREFECT_API_KEY"),
    Kind("readme", "rdme_{lower:70}", "ReadMe", "README_API_KEY"),
    Kind("scalingo", "tk-us-{url:48}", "Scalingo", "SCALINGO_TOKEN"),
    Kind("sourcegraph", "sgp_{hex:16}_{hex:40}", "Sourcegraph", "SRC_ACCESS_TOKEN"),
    Kind("tailscale", "tskey-auth-{alnum:12}-{alnum:32}", "Tailscale", "TS_AUTHKEY"),
    Kind("infracost", "ico-{alnum:32}", "Infracost", "INFRACOST_API_KEY"),
    Kind("lob", "live_{hex:35}", "Lob", "LOB_API_KEY"),
    Kind("snyk", _UUID, "Snyk", "SNYK_TOKEN", telling=False),
    Kind("vercel", "{alnum:24}", "Vercel", "VERCEL_TOKEN", telling=False),
    Kind("wandb", "{hex:40}", "Weights & Biases", "WANDB_API_KEY", telling=False),
    Kind("fastly", "{url:32}", "Fastly", "FASTLY_API_TOKEN", telling=False),
)
