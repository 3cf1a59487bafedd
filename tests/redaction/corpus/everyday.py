"""Ordinary sentences that speak of keys, ids and numbers, or only look as if: none of them holds a secret."""

SENTENCES = tuple(
    line
    for line in """
The password policy changed on Monday: at least 14 characters, no reuse of the last 5.
Ana forgot her password again and asked Ben to reset it before 17:30.
Please reset the password for the staging database by Friday.
The password is stored in the vault, not in the wiki.
The password must contain an uppercase letter, a digit and a symbol.
My password manager is Bitwarden and I like it.
Password rotation happens every 90 days according to ISO/IEC 27001:2022.
The password field is type=password and has maxlength=128.
The token bucket allows 100 requests per minute with a burst of 250.
The API key is rotated every quarter; see RFC-0042 for the procedure.
The API key page moved to Settings > Developers > Keys.
An API key is required for the v3 endpoints, but not for v2.
The secret of a good soup is patience and fresh bay leaves.
Secret Santa is on 2026-12-18 at 16:00, budget 25 EUR.
The key takeaway from the Q3-2026 review is that churn fell by 12.5 %.
Her piano piece is in the key of F-sharp minor.
The license key ships with the box, on the back of the manual.
The token count was 128,000 and the context window 200,000 tokens.
We use BPE tokenization with a vocabulary of 50257 tokens.
The bearer of this ticket may enter gate 12B after 18:45.
Authorization was granted by the board on 3 March 2026.
The private key never leaves the HSM, model nShield-5c.
Public key fingerprint: SHA256:uNiVztksCsDhcc0u9e8BgrJXVGDQl8B0Nn0fGkW1sC0
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk3T1q0rJ0y8w2oQwYk7mZk3v5r8t1u4x6z9a2c5e8g ana@laptop
The commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fixed the login bug.
Reverted 3c4c450 because the gate was too strict.
Checksum (sha256): e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
The md5 of the file is d41d8cd98f00b204e9800998ecf8427e, which means it is empty.
etag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
Order 302-5846291-7719253 arrived yesterday, two days late.
Order number A-20261117-00042 was cancelled.
Tracking number 1Z999AA10123456784 says out for delivery.
Invoice INV-2026-004217 is due on 30.11.2026.
Ticket JIRA-4821 depends on PROJ-1107 and OPS-33.
Booking reference XK7PQ2, seat 14C, flight LH 2034.
The UUID of the run is 550e8400-e29b-41d4-a716-446655440000.
request id: 7f3c2b1a-9d8e-4f6a-b5c4-3d2e1f0a9b8c failed with 503.
trace_id=4bf92f3577b34da6a3ce929d0e0e4736 span_id=00f067aa0ba902b7
session 01J8Z3K5M7N9P1Q3R5S7T9V1W3 ended normally.
The ULID 01ARZ3NDEKTSV4RRFFQ69G5FAV sorts by time.
The object id is 507f1f77bcf86cd799439011 in collection users.
See https://github.com/org/project/commit/9fceb02d0ae598e95dc970b74767f19372d61af8
The doc is at https://docs.example.com/document/d/1aBcD3fGhIjKlMnOpQrStUvWxYz0123456789AbCdEf/edit
Watch https://video.example.com/watch?v=dQw4w9WgXcQ&t=42s before Thursday.
Join https://meet.example.com/abc-defg-hij at 10:00.
https://example.com/articles/2026/11/17/why-passwords-are-dying?utm_source=newsletter&utm_medium=email
Download app-2.14.0-rc.3+build.20261117.tar.gz from the release page.
Python 3.11.9, numpy 1.26.4, torch 2.5.1+cu124, glibc 2.36-9+deb12u8
The model is Llama-3.1-70B-Instruct-Q4_K_M.gguf from the hub.
We compared gpt-4o-2024-08-06 with claude-3-5-sonnet-20241022 and gemini-1.5-pro-002.
The container image is registry.example.com/team/app:v1.4.2-9f8e7d6.
pod auth-svc-7d9f8b6c5d-x2k4p restarted 3 times.
node ip-10-0-12-34.eu-central-1.compute.internal is not ready.
The instance i-0abcd1234ef567890 runs in vpc-0a1b2c3d4e5f67890.
arn:aws:iam::123456789012:role/deploy-role needs a review.
MAC 00:1A:2B:3C:4D:5E got 192.168.178.42 by DHCP.
IPv6 2001:0db8:85a3:0000:0000:8a2e:0370:7334 is documentation space.
Serial number C02XG0FDJGH5 belongs to Ana's laptop.
ISBN 978-3-16-148410-0 is the second edition.
DOI 10.1038/s41586-021-03819-2 describes AlphaFold.
arXiv:2401.12345v2 has a better bound.
VIN WVWZZZ1JZXW000001 is an old Golf.
The part number is 8WD-44-20/0AB and costs 48.10 EUR.
Room B2.114, 3rd floor, building H-7.
The meeting is on 2026-11-17T09:30:00+01:00 in Zürich.
Her phone is +49 30 901820 and the fax +49 30 90182 100.
Die Datenschutzgrundverordnung gilt seit dem 25.05.2018.
Das Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz wurde 2013 aufgehoben.
Die Donaudampfschifffahrtsgesellschaftskapitänsmütze hängt im Flur.
Das Passwort muss mindestens zwölf Zeichen haben.
Das Passwort wurde gestern von Ben zurückgesetzt.
Der Schlüssel liegt unter der Fußmatte, wie immer.
Der Schlüssel zum Erfolg ist Geduld.
Schlüsselwörter: Datenbank, Gedächtnis, Abruf, Vergessen.
Der Token-Verbrauch lag im Oktober bei 1.284.311 Tokens.
Die Geheimhaltungsvereinbarung NDA-2026-17 ist unterschrieben.
La contraseña debe tener al menos ocho caracteres.
La contraseña caduca cada 90 días según la norma.
La clave del éxito es la constancia.
La clave primaria de la tabla usuarios es id_usuario.
El token caduca a los 3600 segundos.
Le mot de passe doit être changé tous les 90 jours.
Le mot de passe est conservé dans le coffre.
La clé du problème est ailleurs.
La clé USB de 64 Go est sur le bureau.
Le jeton expire au bout de 3600 secondes.
A senha deve ter pelo menos 10 caracteres.
A senha foi alterada ontem pelo Rui.
A chave do carro está na gaveta 3.
La password deve contenere almeno otto caratteri.
La chiave di casa è dal portiere.
Пароль должен содержать не менее 8 символов.
Пароль был изменён вчера вечером.
Ключ от квартиры лежит под ковриком.
Ключ к успеху — терпение и труд.
Токен истекает через 3600 секунд.
密码必须至少包含八个字符。
密码已于昨天重置。
成功的关键是耐心。
钥匙在桌子上。
パスワードは8文字以上にしてください。
パスワードは昨日リセットされました。
鍵は玄関にあります。
キーボードの英数キーが壊れました。
비밀번호는 8자 이상이어야 합니다.
비밀번호는 어제 변경되었습니다.
열쇠는 책상 위에 있습니다.
Het wachtwoord moet minstens 12 tekens lang zijn.
De sleutel ligt bij de buren.
Hasło musi mieć co najmniej 8 znaków.
Klucz do mieszkania jest u sąsiada.
Set api_key to YOUR_API_KEY in config.yaml and restart.
export OPENAI_API_KEY=sk-... and run the script.
The variable DB_PASSWORD is read from the environment.
password = getpass.getpass("Password: ")
token = os.environ["GITHUB_TOKEN"]
api_key = settings.load("api_key")
const secret = process.env.JWT_SECRET;
if (user.password === hash(input)) return true;
SELECT password_hash FROM users WHERE id = 42;
auth_token = request.headers.get("Authorization")
secretKeyRef: {name: db-credentials, key: password}
--token-file /run/secrets/token --log-level debug
kubectl create secret generic db --from-literal=password=$DB_PASSWORD
The test uses password="changeme" and user="test".
assert is_valid_password("") is False
def test_password_reset_sends_mail_to_user(client): ...
class PasswordAuthenticationProviderConfig extends AbstractProvider
useAuthTokenProvider and parse_bearer_header_or_none are deprecated.
MAX_TOKENS_PER_REQUEST=4096 and RATE_LIMIT_WINDOW_SECONDS=60
The header X-Request-Id: 8f14e45f-ceea-467a-9b1e-2c3d4e5f6a7b is echoed.
Cookie consent was given on 2026-10-01 for analytics only.
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
The base64 of "hello world" is aGVsbG8gd29ybGQ= in every library.
lat 52.520008, lon 13.404954 is Alexanderplatz.
p = 0.00042, n = 1284, r^2 = 0.8731, 95% CI [0.71, 0.94]
The hash map has 16 buckets and a load factor of 0.75.
The wallet address 0x52908400098527886E0F7030069857D2E4169EE7 is public.
Bitcoin address 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa got the first block reward.
tx 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060 was mined.
The CID is QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPXbf on IPFS.
Ana's locker is number 4711 and Ben's is 0815.
Call extension 4242 and ask for the key account manager.
The key account is Contoso Ltd., customer no. 100482-7.
She plays tennis on court 3 at 19:00 every Tuesday.
Version 2.0.0-beta.11 introduced the breaking change.
The WPA3 standard replaces WPA2-PSK in new routers.
The router model is FRITZ!Box 7590 AX with firmware 7.57.
I bought the Sony WH-1000XM5 and returned the QC35-II.
The RTX-4090-24G is sold out, the H100-SXM5-80GB too.
Product codes: SKU-88213-BLK-L, SKU-88213-WHT-M, EAN 4006381333931
Flight LX1234 ZRH-LIS, PNR QX7LMP, gate A42.
The train ICE 1207 leaves at 06:02 from platform 9.
Bug 1287345 is a duplicate of 1287001.
CVE-2024-3094 affects xz-utils 5.6.0 and 5.6.1.
RFC 7519 defines JSON Web Tokens; RFC 6750 bearer tokens.
A JSON web token has three parts separated by dots.
A strong passphrase has four or more random words.
The credentials committee meets at 14:00 in room 204.
Her credentials include a PhD from ETH and ten years at CERN.
The login page loads in 1.8 s on 4G.
He logged in from 203.0.113.7 at 23:59:58.
Two-factor codes expire after 30 seconds.
The recovery phrase has twelve words; write it on paper.
The PIN pad in the lobby is broken again.
The pin on the map is at the old harbour.
The code review is at https://review.example.com/c/project/+/1284412
The access code changes daily; ask the concierge.
The door code is changed on the first of each month.
The key is a composite of tenant_id and user_id.
Foreign key constraint fk_orders_customer_id failed on insert.
The primary key is (tenant, id), the index ix_events_at.
Redis key user:1284:profile has a TTL of 3600.
The S3 key is backups/2026/11/17/db-full.sql.zst in bucket acme-backups.
Press the key combination Ctrl+Shift+Alt+F12 twice.
The keyboard layout is de-latin1-nodeadkeys.
The secretary general spoke for 42 minutes.
Token ring networks ran at 4 or 16 Mbit/s.
The NFT token id is 8817 in the CryptoPunks contract.
Give the machine a token of 50 cents to start the washing.
Session cookies expire after 30 minutes of inactivity.
Authentication uses OAuth2 with PKCE; the client is public.
The signature of the contract was on page 17.
Signing keys are rotated by the KMS automatically.
The encryption key length is 256 bits, the nonce 96 bits.
AES-256-GCM and XChaCha20-Poly1305 are both fine here.
The cipher suite is TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256.
libssl1.1_1.1.1w-0+deb11u1_amd64.deb conflicts with openssl.
com.example.app.auth.PasswordEncoderFactory was renamed.
org.springframework.security.oauth2.jwt.JwtDecoder is final.
getUserByIdAndTenantOrThrowNotFoundException is a long name.
Xq7 is the codename of the project, Zephyr-9 the old one.
The team name is r00tk1ts and the mascot is a beaver.
Her handle is dragon_slayer_1999 on the forum.
My license plate is B-MW 2026.
The wifi at the cafe is called CoffeeHouse_5G.
The wifi password is on the fridge, ask Mum.
Ask Ben for the wifi password when you arrive.
The password hint is the name of my first dog.
My first dog was called Rex and my school was St. Mary's.
Password: see 1Password, vault Engineering, item staging-db.
Token: none required for local development.
API key: not needed.
Secret: ask the on-call engineer.
Passwort: siehe Tresor.
Contraseña: pregunta a Ana.
Mot de passe : voir le coffre.
Пароль: спроси у Бена.
密码：问安娜。
パスワード：アナに聞いてください。
비밀번호: 아나에게 물어보세요.
Senha: pergunte à Ana.
""".split("\n")
    if line
)
