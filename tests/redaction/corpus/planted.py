"""Planted credentials: 152 formats in sentences of ten languages; half of the formats are never tuned on."""

from random import Random

from tests.redaction.corpus.shapes import Kind, Sample, draw

_UUID = "{hex:8}-{hex:4}-4{hex:3}-a{hex:3}-{hex:12}"

# name | shape | issuer; a `?` before the name: the shape could be anything, only words tell.
_FORMATS = f"""
abstract|?{{hex:32}}|Abstract
activecampaign|?{{hex:72}}|ActiveCampaign
adafruit|aio_{{alnum:28}}|Adafruit IO
adobe|p8e-{{alnum:32}}|Adobe
age|AGE-SECRET-KEY-1{{bech32:58}}|age
airtable|pat{{alnum:14}}.{{hex:64}}|Airtable
airtable-old|key{{alnum:14}}|Airtable
aiven|?{{base64:340}}=|Aiven
algolia|?{{hex:32}}|Algolia
alibaba|LTAI{{alnum:20}}|Alibaba Cloud
alibaba-secret|?{{alnum:30}}|Alibaba Cloud
amplitude|?{{hex:32}}|Amplitude
anyscale|esecret_{{alnum:26}}|Anyscale
apify|apify_api_{{alnum:36}}|Apify
artifactory|AKCp{{alnum:69}}|Artifactory
artifactory-ref|cmVmdGtu{{alnum:56}}|Artifactory
asana|1/{{digit:16}}:{{hex:32}}|Asana
assemblyai|?{{hex:32}}|AssemblyAI
auth0|?{{url:64}}|Auth0
aws-mws|amzn.mws.{_UUID}|Amazon MWS
aws-bedrock|ABSK{{base64:109}}|Bedrock
azure-devops|?{{lower:52}}|Azure DevOps
azure-openai|?{{hex:32}}|Azure OpenAI
azure-sas|sv=2022-11-02&sr=b&sig={{url:43}}%3D|Azure Storage
baseten|{{alnum:8}}.{{alnum:32}}|Baseten
beamer|b_{{url:44}}|Beamer
bitbucket|ATBB{{alnum:28}}{{upper:8}}|Bitbucket
bitly|?{{hex:40}}|Bitly
brevo|xkeysib-{{hex:64}}-{{alnum:16}}|Brevo
browserless|?{_UUID}|Browserless
buildkite|bkua_{{hex:40}}|Buildkite
bunny|?{_UUID}{_UUID}|Bunny
cerebras|csk-{{lower:48}}|Cerebras
chargebee|live_{{alnum:40}}|Chargebee
clarifai|?{{hex:32}}|Clarifai
clerk|sk_live_{{alnum:43}}|Clerk
clickhouse|4b1d{{alnum:38}}|ClickHouse Cloud
clojars|CLOJARS_{{hex:60}}|Clojars
cloudflare|?{{url:40}}|Cloudflare
cloudflare-ca|v1.0-{{hex:24}}-{{hex:146}}|Cloudflare
cloudinary|?{{url:27}}|Cloudinary
codecov|?{_UUID}|Codecov
cohere|?{{alnum:40}}|Cohere
coinbase|?{{url:64}}|Coinbase
confluent|?{{base64:64}}|Confluent
contentful|CFPAT-{{url:43}}|Contentful
couchbase|?{{alnum:64}}|Couchbase
databricks|dapi{{hex:32}}-2|Databricks
datadog|?{{hex:32}}|Datadog
datadog-app|?{{hex:40}}|Datadog
deepgram|?{{hex:40}}|Deepgram
deepl|{_UUID}:fx|DeepL
deepseek|sk-{{hex:32}}|DeepSeek
defined|dnkey-{{alnum:26}}-{{alnum:52}}|Defined Networking
doppler|dp.pt.{{alnum:43}}|Doppler
doppler-service|dp.st.prd.{{alnum:40}}|Doppler
dropbox|sl.{{url:138}}|Dropbox
duffel|duffel_live_{{url:43}}|Duffel
dynatrace|dt0c01.{{base32:24}}.{{base32:64}}|Dynatrace
easypost|EZAK{{alnum:54}}|EasyPost
elastic|?{{base64:60}}==|Elastic
elevenlabs|sk_{{hex:48}}|ElevenLabs
etherscan|?{{upper:34}}|Etherscan
exa|?{_UUID}|Exa
fastly|?{{url:32}}|Fastly
fauna|fnA{{alnum:37}}|Fauna
finicity|?{{hex:32}}|Finicity
firecrawl|fc-{{hex:32}}|Firecrawl
fireworks|fw_{{alnum:24}}|Fireworks
flutterwave|FLWSECK-{{hex:32}}-X|Flutterwave
flyio|fm2_{{base64:140}}|Fly.io
frameio|fio-u-{{url:64}}|Frame.io
freshdesk|?{{alnum:20}}|Freshdesk
gandi|?{{alnum:24}}|Gandi
gitea|?{{hex:40}}|Gitea
gocardless|live_{{url:40}}|GoCardless
grafana|glsa_{{alnum:32}}_{{hex:8}}|Grafana
grafana-cloud|glc_{{base64:80}}|Grafana Cloud
harness|pat.{{alnum:22}}.{{hex:24}}.{{alnum:20}}|Harness
helicone|sk-helicone-{{lower:7}}-{{lower:7}}-{{lower:7}}-{{lower:7}}|Helicone
hubspot|pat-na1-{_UUID}|HubSpot
ibm|?{{url:44}}|IBM Cloud
infracost|ico-{{alnum:32}}|Infracost
infura|?{{hex:32}}|Infura
intercom|dG9rO{{base64:54}}=|Intercom
intra42|s-s4t2ud-{{hex:64}}|Intra
ipinfo|?{{hex:14}}|IPinfo
jina|jina_{{alnum:60}}|Jina
jotform|?{{hex:32}}|Jotform
kraken|?{{base64:86}}==|Kraken
kucoin|?{{hex:24}}|KuCoin
langfuse|sk-lf-{_UUID}|Langfuse
launchdarkly|sdk-{_UUID}|LaunchDarkly
lemonsqueezy|?{{url:90}}|Lemon Squeezy
linear|lin_api_{{alnum:40}}|Linear
linode|?{{hex:64}}|Linode
lob|live_{{hex:35}}|Lob
mailjet|?{{hex:32}}|Mailjet
mapbox|sk.eyJ{{url:80}}.{{url:22}}|Mapbox
mattermost|?{{lower:26}}|Mattermost
maxmind|{{alnum:6}}_{{alnum:29}}_mmk|MaxMind
mem0|m0-{{alnum:40}}|Mem0
meraki|?{{hex:40}}|Meraki
mistral|?{{alnum:32}}|Mistral
mixpanel|?{{hex:32}}|Mixpanel
mongodb|mdb_sa_sk_{{url:40}}|MongoDB Atlas
monday|?eyJ{{url:30}}.eyJ{{url:80}}.{{url:43}}|monday
neon|napi_{{lower:64}}|Neon
newrelic|NRAK-{{upper:27}}|New Relic
ngrok|2{{alnum:26}}_{{alnum:21}}|ngrok
nomic|nk-{{url:43}}|Nomic
nvidia|nvapi-{{url:64}}|NVIDIA
okta|?00{{url:40}}|Okta
onepassword|ops_eyJ{{base64:250}}|1Password
openweather|?{{hex:32}}|OpenWeather
opsgenie|?{_UUID}|Opsgenie
pagerduty|?u+{{url:18}}|PagerDuty
paypal|?E{{url:79}}|PayPal
paystack|sk_live_{{hex:40}}|Paystack
plaid|access-production-{_UUID}|Plaid
planetscale|pscale_pw_{{url:43}}|PlanetScale
posthog|phx_{{alnum:43}}|PostHog
postman|PMAK-{{hex:24}}-{{hex:34}}|Postman
prefect|pnu_{{alnum:36}}|Prefect
pulumi|pul-{{hex:40}}|Pulumi
pushover|?{{lower:30}}|Pushover
qdrant|?{{url:54}}|Qdrant
rapidapi|{{hex:10}}msh{{hex:15}}p1{{hex:6}}jsn{{hex:12}}|RapidAPI
readme|rdme_{{lower:70}}|ReadMe
redis-cloud|?{{alnum:32}}|Redis Cloud
rollbar|?{{hex:32}}|Rollbar
rootly|rootly_{{hex:64}}|Rootly
rubygems|rubygems_{{hex:48}}|RubyGems
salesforce|00D{{alnum:12}}!{{alnum:96}}|Salesforce
scalingo|tk-us-{{url:48}}|Scalingo
scaleway|?{_UUID}|Scaleway
segment|sgp_{{alnum:64}}|Segment
sendbird|?{{hex:40}}|Sendbird
sentry-old|?{{hex:64}}|Sentry
serpapi|?{{hex:64}}|SerpApi
shippo|shippo_live_{{hex:40}}|Shippo
snyk|?{_UUID}|Snyk
sonar|squ_{{hex:40}}|SonarQube
sourcegraph|sgp_{{hex:16}}_{{hex:40}}|Sourcegraph
splunk|?{_UUID}|Splunk
spotify|?{{hex:32}}|Spotify
stability|sk-{{alnum:48}}|Stability
strapi|?{{hex:256}}|Strapi
tailscale|tskey-auth-{{alnum:12}}CNTRL-{{alnum:32}}|Tailscale
together|?{{hex:64}}|Together
travis|?{{url:22}}|Travis
trello|ATTA{{hex:64}}{{upper:8}}|Trello
turso|?eyJ{{url:20}}.eyJ{{url:90}}.{{url:86}}|Turso
twitch|?{{lower:30}}|Twitch
twitter|{{digit:18}}-{{alnum:30}}|Twitter
typeform|tfp_{{url:44}}_{{alnum:14}}|Typeform
unkey|unkey_{{alnum:22}}|Unkey
upstash|?A{{base64:60}}==|Upstash
vercel|?{{alnum:24}}|Vercel
voyage|pa-{{url:43}}|Voyage
vultr|?{{upper:36}}|Vultr
wandb|?{{hex:40}}|Weights & Biases
webflow|?{{hex:64}}|Webflow
wakatime|waka_{_UUID}|WakaTime
yandex|AQVN{{url:36}}|Yandex
zapier|?{{hex:32}}|Zapier
zendesk|?{{alnum:40}}|Zendesk
zuplo|zpka_{{hex:32}}_{{hex:8}}|Zuplo
wifi|?{{password:1}}|the office wifi
database|?{{password:1}}|the database
"""

KINDS = tuple(
    Kind(name, shape.lstrip("?"), issuer, f"{name.upper().replace('-', '_')}_KEY", telling=shape[0] != "?")
    for name, shape, issuer in (line.split("|") for line in _FORMATS.split("\n") if line)
)

SHOWN = (
    "Rolled the {issuer} credentials on Tuesday; the new one is {secret} and the old one dies on Friday.",
    "Ana pasted {secret} into the channel by mistake.",
    "Deploy notes: put {secret} in the {issuer} section of the vault.",
    "the user said: use {secret} for {issuer} from now on",
    "- {issuer}: {secret}",
    "Ben sent me {secret}, it works for {issuer}.",
)
"""Sentences without a word that announces a key: only the form of the value tells."""

ANNOUNCED = (
    "{variable}={secret}",
    'export {variable}="{secret}"',
    "{issuer} API key: {secret}",
    '{{"service": "{issuer}", "token": "{secret}"}}',
    "Our {issuer} password is {secret}, ask Ben before rotating.",
    "curl -H 'Authorization: Bearer {secret}' https://api.example.com/v1/me",
    "Ran the import with --api-key {secret} and it worked.",
    "The secret for {issuer} is {secret} (valid until May).",
    "Here is the {issuer} token you asked for: {secret}",
    "Das Passwort für {issuer} lautet {secret}.",
    "Der API-Schlüssel von {issuer}: {secret}",
    "La contraseña de {issuer} es {secret}",
    "La clave de API de {issuer} es {secret}.",
    "Le mot de passe pour {issuer} est {secret}.",
    "Clé d'API {issuer} : {secret}",
    "A senha do {issuer} é {secret}",
    "La password di {issuer} è {secret}",
    "Chiave API {issuer}: {secret}",
    "Пароль от {issuer}: {secret}",
    "API-ключ {issuer} — {secret}",
    "{issuer}的密码是{secret}",
    "{issuer} 的 API 密钥：{secret}",
    "{issuer}のパスワードは{secret}です",
    "{issuer}のAPIキー: {secret}",
    "{issuer} 비밀번호는 {secret} 입니다",
    "{issuer} API 키: {secret}",
    "Het wachtwoord voor {issuer} is {secret}.",
    "Hasło do {issuer} to {secret}",
)
"""Sentences with such a word, in twelve languages."""


def planted(*, held_out: bool, each: int = 24, seed: int = 17) -> list[Sample]:
    """The sentences of every second format, `each` of every one: those tuned on, or those held out."""
    random = Random(seed + held_out)
    samples = []
    for kind in KINDS[held_out::2]:
        sentences = (*SHOWN, *ANNOUNCED) if kind.telling else ANNOUNCED
        offset = random.randrange(len(sentences))
        for at in range(each):
            secret = draw(kind.shape, random)
            words = sentences[(offset + at) % len(sentences)]
            text = words.format(issuer=kind.issuer, variable=kind.variable, secret=secret)
            samples.append(Sample(kind.name, text, secret))
    return samples
