"""The kinds that rules were written for, and the sentences in which they are remembered."""

from tests.redaction.corpus.shapes import Kind

_JWT = "eyJ{url:30-40}.eyJ{url:60-120}.{url:43}"

KINDS = (
    Kind("aws-access-key", "AKIA{base32:16}", "AWS", "AWS_ACCESS_KEY_ID"),
    Kind("aws-secret-key", "{base64:40}", "AWS", "AWS_SECRET_ACCESS_KEY", telling=False),
    Kind("github-classic", "ghp_{alnum:36}", "GitHub", "GITHUB_TOKEN"),
    Kind("github-app", "ghs_{alnum:36}", "GitHub", "GH_APP_TOKEN"),
    Kind("github-fine-grained", "github_pat_{alnum:22}_{alnum:59}", "GitHub", "GH_TOKEN"),
    Kind("gitlab", "glpat-{url:20}", "GitLab", "GITLAB_TOKEN"),
    Kind("gitlab-runner", "glrt-{url:20}", "GitLab", "RUNNER_TOKEN"),
    Kind("slack-bot", "xoxb-{digit:12}-{digit:13}-{alnum:24}", "Slack", "SLACK_BOT_TOKEN"),
    Kind("slack-user", "xoxp-{digit:11}-{digit:11}-{digit:12}-{hex:32}", "Slack", "SLACK_TOKEN"),
    Kind("slack-app", "xapp-1-A{upper:10}-{digit:13}-{hex:64}", "Slack", "SLACK_APP_TOKEN"),
    Kind(
        "slack-webhook", "https://hooks.slack.com/services/T{upper:8}/B{upper:8}/{alnum:24}", "Slack", "HOOK"
    ),
    Kind(
        "discord-webhook", "https://discord.com/api/webhooks/{digit:18}/{url:68}", "Discord", "DISCORD_HOOK"
    ),
    Kind(
        "teams-webhook",
        "https://shop.webhook.office.com/webhookb2/{hex:32}@{hex:32}/IncomingWebhook/{hex:32}/{hex:32}",
        "Teams",
        "TEAMS_HOOK",
    ),
    Kind("stripe", "sk_live_{alnum:24}", "Stripe", "STRIPE_SECRET_KEY"),
    Kind("stripe-restricted", "rk_live_{alnum:99}", "Stripe", "STRIPE_RESTRICTED_KEY"),
    Kind("stripe-webhook", "whsec_{alnum:32}", "Stripe", "STRIPE_WEBHOOK_SECRET"),
    Kind("openai-project", "sk-proj-{url:74}T3BlbkFJ{url:74}", "OpenAI", "OPENAI_API_KEY"),
    Kind("openai-legacy", "sk-{alnum:20}T3BlbkFJ{alnum:20}", "OpenAI", "OPENAI_KEY"),
    Kind("anthropic", "sk-ant-api03-{url:93}AA", "Anthropic", "ANTHROPIC_API_KEY"),
    Kind("openrouter", "sk-or-v1-{hex:64}", "OpenRouter", "OPENROUTER_API_KEY"),
    Kind("google-api", "AIza{url:35}", "Google", "GOOGLE_API_KEY"),
    Kind("google-access", "ya29.{url:80-160}", "Google", "GOOGLE_ACCESS_TOKEN"),
    Kind("google-client", "GOCSPX-{url:28}", "Google", "GOOGLE_CLIENT_SECRET"),
    Kind("google-refresh", "1//0{url:60-90}", "Google", "GOOGLE_REFRESH_TOKEN"),
    Kind("sendgrid", "SG.{url:22}.{url:43}", "SendGrid", "SENDGRID_API_KEY"),
    Kind("twilio", "SK{hex:32}", "Twilio", "TWILIO_API_KEY"),
    Kind("twilio-auth", "{hex:32}", "Twilio", "TWILIO_AUTH_TOKEN", telling=False),
    Kind("mailgun", "key-{hex:32}", "Mailgun", "MAILGUN_API_KEY"),
    Kind("mailchimp", "{hex:32}-us{digit:1}", "Mailchimp", "MAILCHIMP_KEY"),
    Kind("npm", "npm_{alnum:36}", "npm", "NPM_TOKEN"),
    Kind("pypi", "pypi-AgEI{url:100-150}", "the index", "TWINE_PASSWORD"),
    Kind("docker", "dckr_pat_{url:27}", "Docker Hub", "DOCKER_TOKEN"),
    Kind("huggingface", "hf_{letters:34}", "Hugging Face", "HF_TOKEN"),
    Kind("digitalocean", "dop_v1_{hex:64}", "DigitalOcean", "DO_TOKEN"),
    Kind("shopify", "shpat_{hex:32}", "Shopify", "SHOPIFY_TOKEN"),
    Kind("square", "sq0atp-{url:22}", "Square", "SQUARE_TOKEN"),
    Kind("facebook", "EAAB{alnum:120}", "Facebook", "FB_TOKEN"),
    Kind("discord-bot", "M{alnum:23}.{url:6}.{url:27}", "Discord", "DISCORD_TOKEN"),
    Kind("telegram", "{digit:10}:AA{url:33}", "Telegram", "TELEGRAM_TOKEN"),
    Kind("vault", "hvs.{url:90-100}", "Vault", "VAULT_TOKEN"),
    Kind("terraform", "{alnum:14}.atlasv1.{url:67}", "Terraform Cloud", "TFC_TOKEN"),
    Kind("azure-client", "{alnum:3}8Q~{alnum:34}", "Azure", "AZURE_CLIENT_SECRET"),
    Kind("azure-storage", "{base64:86}==", "Azure", "AZURE_STORAGE_KEY", telling=False),
    Kind("supabase", "sbp_{hex:40}", "Supabase", "SUPABASE_ACCESS_TOKEN"),
    Kind("figma", "figd_{url:40}", "Figma", "FIGMA_TOKEN"),
    Kind("sentry", "sntryu_{hex:64}", "Sentry", "SENTRY_AUTH_TOKEN"),
    Kind("circleci", "CCIPAT_{alnum:22}_{hex:40}", "CircleCI", "CIRCLE_TOKEN"),
    Kind("atlassian", "ATATT3xFfGF0{url:170}={hex:8}", "Jira", "JIRA_TOKEN"),
    Kind("groq", "gsk_{alnum:52}", "Groq", "GROQ_API_KEY"),
    Kind("replicate", "r8_{alnum:37}", "Replicate", "REPLICATE_API_TOKEN"),
    Kind("perplexity", "pplx-{alnum:48}", "Perplexity", "PPLX_KEY"),
    Kind("xai", "xai-{alnum:80}", "xAI", "XAI_API_KEY"),
    Kind("langsmith", "lsv2_pt_{hex:32}_{hex:10}", "LangSmith", "LANGSMITH_API_KEY"),
    Kind("pinecone", "pcsk_{alnum:6}_{alnum:63}", "Pinecone", "PINECONE_API_KEY"),
    Kind("tavily", "tvly-dev-{alnum:32}", "Tavily", "TAVILY_API_KEY"),
    Kind("resend", "re_{alnum:8}_{alnum:24}", "Resend", "RESEND_API_KEY"),
    Kind("netlify", "nfp_{alnum:36}", "Netlify", "NETLIFY_TOKEN"),
    Kind("render", "rnd_{alnum:28}", "Render", "RENDER_API_KEY"),
    Kind("notion", "ntn_{alnum:46}", "Notion", "NOTION_TOKEN"),
    Kind("heroku", "HRKU-AA{url:58}", "Heroku", "HEROKU_API_KEY"),
    Kind("zendesk", "{alnum:40}", "Zendesk", "ZENDESK_API_TOKEN", telling=False),
    Kind("cohere", "{alnum:40}", "Cohere", "COHERE_API_KEY", telling=False),
    Kind("azure-openai", "{hex:32}", "Azure OpenAI", "AZURE_OPENAI_API_KEY", telling=False),
    Kind("jwt", _JWT, "the gateway", "ID_TOKEN"),
)

TELLING = (
    "The {issuer} key for the staging project is {secret}.",
    "Remember that we use {secret} for {issuer}.",
    "{variable}: {secret}",
    "I set {variable}={secret} in .env yesterday",
    'config = {{"{variable}": "{secret}", "timeout": 30}}',
    "Ben asked me to keep this safe: {secret}",
    "{issuer} access works with `{secret}` until the end of the quarter, then ask Dana.",
    "He wrote {secret} on the whiteboard during the call about {issuer}",
    "os.environ['{variable}'] = '{secret}'",
    "Step 3: log in to {issuer} with {secret}, step 4: run the migration.",
    "curl -s https://api.example.com/v2/items -H 'Authorization: Bearer {secret}'",
    "User preference: always call {issuer} with token {secret}; never the shared one",
    "{secret}",
    "first line\n{secret}\nlast line",
)
NAMED = (
    "The {issuer} API key for the staging project is {secret}.",
    "{variable}: {secret}",
    "I set {variable}={secret} in .env yesterday",
    'config = {{"{variable}": "{secret}", "timeout": 30}}',
    "os.environ['{variable}'] = '{secret}'",
    "User preference: always call {issuer} with token {secret}; never the shared one",
    "the secret for {issuer} was changed to {secret} by Dana",
    "curl -s https://api.example.com/v2/items -H 'Authorization: Bearer {secret}'",
)

PLACES = {
    "said-password": (
        "{password:1}",
        (
            "My password for the bank is {secret}.",
            "The wifi password is {secret}",
            "Ana's laptop password was changed to {secret} last week",
            "password: {secret}",
            "db_password={secret}",
            '{{"user": "ana", "password": "{secret}"}}',
            "She logs in with user ana and password {secret} on the old portal",
            "{secret} is my password for the printer",
            "The passphrase for the backup disk is {secret}, do not lose it",
            "mysql -u root -p{secret} shop",
        ),
    ),
    "url-password": (
        "{password:1}",
        (
            "DATABASE_URL=postgres://app:{secret}@db.internal:5432/shop",
            "The queue lives at amqp://worker:{secret}@mq.example.com/jobs",
            "mongodb+srv://ana:{secret}@cluster0.example.net/test is the staging cluster",
            "redis://:{secret}@cache.internal:6379/0",
        ),
    ),
    "connection-string": (
        "{base64:86}==",
        (
            "DefaultEndpointsProtocol=https;AccountName=files;AccountKey={secret};"
            "EndpointSuffix=core.windows.net",
            "Endpoint=sb://bus.example.net/;SharedAccessKeyName=root;SharedAccessKey={secret}",
        ),
    ),
    "server-password": (
        "{alnum:14}",
        (
            "Server=tcp:sql.example.net,1433;Database=crm;User ID=crm;Password={secret};Encrypt=True",
            "ODBC string: Driver={{PG}};Uid=ana;Pwd={secret};",
            "machine git.example.com login ana password {secret}",
            "curl -u ana:{secret} https://files.example.com/report.csv",
        ),
    ),
    "bearer-header": (
        "{url:48}",
        (
            "Authorization: Bearer {secret}",
            'headers = {{"Authorization": "Bearer {secret}"}}',
            "The request failed with bearer {secret} but worked without",
            "X-Api-Key: {secret}",
            "x-auth-token: {secret}",
        ),
    ),
    "login": (
        "{password:1}",
        (
            "log in as ana / {secret} on the test shop",
            "The credentials are ana@example.com:{secret}",
            "deploy.sh --user ana --password {secret} --yes",
        ),
    ),
    "basic-header": (
        "{login:1}",
        (
            "Authorization: Basic {secret}",
            "it answers to basic {secret} only",
            "-H 'Authorization: Basic {secret}'",
        ),
    ),
    "url-token": (
        "{alnum:32}",
        ("git clone https://{secret}@git.example.com/shop.git", "see https://{secret}@x.example"),
    ),
    "pin": (
        "{digit:4}",
        ("My PIN is {secret}.", "PIN for the garage: {secret}", "the PIN was {secret} until May"),
    ),
    "session-cookie": (
        "{alnum:32}",
        ("Cookie: theme=dark; sessionid={secret}; lang=en", "Set-Cookie: connect.sid={secret}; HttpOnly"),
    ),
    "url-parameter": (
        "{alnum:32}",
        (
            "Feed at https://feeds.example.com/rss?user=4&token={secret}",
            "https://files.example.com/a.pdf?sv=2023-01-03&sig={secret}&se=2026-01-01",
            "webhook: https://in.example.com/hook?api_key={secret}",
        ),
    ),
    "one-time-seed": (
        "{base32:32}",
        ("otpauth://totp/Shop:ana@example.com?secret={secret}&issuer=Shop", "The 2FA secret is {secret}"),
    ),
    "private-key": (
        "-----BEGIN RSA PRIVATE KEY-----\n{base64:64}\n{base64:64}\n{base64:44}==\n"
        "-----END RSA PRIVATE KEY-----",
        ("The deploy key:\n{secret}\nKeep it.", "{secret}", "server.pem contains {secret}"),
    ),
    "openssh-key": (
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjE{base64:51}\n{base64:70}\n"
        "-----END OPENSSH PRIVATE KEY-----",
        ("ssh key of the bastion:\n{secret}", '"key": "{secret}"'),
    ),
    "putty-key": (
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 1\n{base64:44}\n"
        "Private-MAC: {hex:64}",
        ("the key of the bastion:\n{secret}\nend",),
    ),
    "recovery-phrase": (
        "{phrase:12}",
        ("The seed phrase is {secret}", "wallet recovery phrase: {secret}", "My recovery words are {secret}"),
    ),
}
"""Secrets that only their place gives away: a shape, and the places."""
