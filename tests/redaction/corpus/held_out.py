"""The held-out kinds: shapes and sentences were fixed before any rule was written; no rule names them."""

from tests.redaction.corpus.shapes import Kind

KINDS = (
    Kind("linear", "lin_api_{alnum:40}", "Linear", "LINEAR_API_KEY"),
    Kind("doppler", "dp.pt.{alnum:43}", "Doppler", "DOPPLER_TOKEN"),
    Kind("planetscale", "pscale_pw_{url:43}", "PlanetScale", "PLANETSCALE_PASSWORD"),
    Kind("postman", "PMAK-{hex:24}-{hex:34}", "Postman", "POSTMAN_API_KEY"),
    Kind("grafana", "glsa_{alnum:32}_{hex:8}", "Grafana", "GRAFANA_TOKEN"),
    Kind("flyio", "fm2_{base64:120-160}", "Fly.io", "FLY_API_TOKEN"),
    Kind("pulumi", "pul-{hex:40}", "Pulumi", "PULUMI_ACCESS_TOKEN"),
    Kind("shippo", "shippo_live_{hex:40}", "Shippo", "SHIPPO_TOKEN"),
    Kind("easypost", "EZAK{alnum:54}", "EasyPost", "EASYPOST_API_KEY"),
    Kind("duffel", "duffel_live_{url:43}", "Duffel", "DUFFEL_ACCESS_TOKEN"),
    Kind("newrelic", "NRAK-{upper:27}", "New Relic", "NEW_RELIC_API_KEY"),
    Kind("brevo", "xkeysib-{hex:64}-{alnum:16}", "Brevo", "BREVO_API_KEY"),
    Kind("typeform", "tfp_{url:44}_{alnum:14}", "Typeform", "TYPEFORM_TOKEN"),
    Kind("rubygems", "rubygems_{hex:48}", "RubyGems", "GEM_HOST_API_KEY"),
    Kind("databricks", "dapi{hex:32}", "Databricks", "DATABRICKS_TOKEN"),
    Kind("airtable", "pat{alnum:14}.{hex:64}", "Airtable", "AIRTABLE_PAT"),
    Kind("age", "AGE-SECRET-KEY-1{bech32:58}", "age", "AGE_IDENTITY"),
    Kind("dynatrace", "dt0c01.{base32:24}.{base32:64}", "Dynatrace", "DYNATRACE_TOKEN"),
    Kind("cloudflare", "{url:40}", "Cloudflare", "CLOUDFLARE_API_TOKEN", telling=False),
    Kind("datadog", "{hex:32}", "Datadog", "DD_API_KEY", telling=False),
    Kind("algolia", "{hex:32}", "Algolia", "ALGOLIA_ADMIN_KEY", telling=False),
    Kind("okta", "00{url:40}", "Okta", "OKTA_API_TOKEN", telling=False),
)

TELLING = (
    "Rolled the {issuer} credentials on Tuesday; the new one is {secret} and the old one dies on Friday.",
    "{variable}={secret}",
    'export {variable}="{secret}"',
    "Deploy notes: put {secret} in the {issuer} section of the vault.",
    "Ana pasted {secret} into the channel by mistake.",
    "- {issuer}: {secret}",
    '{{"service": "{issuer}", "token": "{secret}"}}',
    "curl -H 'Authorization: Bearer {secret}' https://api.example.com/v1/me",
    "Ran the import with --api-key {secret} and it worked.",
    "the user said: use {secret} for {issuer} from now on",
)
NAMED = (
    "{variable}={secret}",
    'export {variable}="{secret}"',
    "{issuer} API key: {secret}",
    '{{"service": "{issuer}", "api_key": "{secret}"}}',
    "Ran the import with --api-key {secret} and it worked.",
    "Our {issuer} admin key is {secret}, ask Ben before rotating.",
    "curl -H 'X-Api-Key: {secret}' https://api.example.com/v1/me",
)
"""Sentences for shapes that could be anything."""
