"""Coming in: with a token or, before there are operators, by a link that works once."""

import re
from time import sleep

from playwright.sync_api import Browser

from memorywire_server.http.answers import HEADERS
from tests.console.stage import Stage, visiting


def test_the_local_user_needs_no_token_while_there_are_no_operators(stage: Stage, browser: Browser):
    with visiting(browser) as visit:
        page = visit.open(stage.url)
        assert page.title() == "Home · memorywire"
        assert not visit.complaints


def test_with_operators_a_token_signs_in_and_out(stage: Stage, browser: Browser):
    olga = stage.server.operator("olga", "reviewer")
    with visiting(browser) as visit:
        page = visit.open(f"{stage.url}/inbox")
        assert page.title() == "Sign in · memorywire"
        page.get_by_label("Token", exact=True).fill("mw_wrong")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("status").get_by_text("this token is not valid").wait_for()
        page = visit.sign_in(stage, olga.token)
        assert "operator:olga" in page.locator(".who").inner_text()
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/sign-in*")
        assert visit.open(f"{stage.url}/inbox").title() == "Sign in · memorywire"


def entered(stage: Stage) -> tuple[str, str]:
    """The cookie of a visitor who came by a link, and the token of their forms."""
    client = stage.server.client
    reply = client.get(stage.link.removeprefix(client.url))
    cookie = reply.headers["set-cookie"].partition(";")[0]
    shown = client.send("GET", "/console/inbox", headers={"Cookie": cookie})
    assert shown.status == 200
    [token] = set(re.findall(r'name="form_token" value="(\w+)"', shown.body.decode()))
    return cookie, token


def test_a_link_and_all_who_came_by_it_end_with_the_first_operator(stage: Stage):
    client = stage.server.client
    cookie, _ = entered(stage)
    spare = stage.link.removeprefix(client.url)
    stage.server.operator("olga")
    sleep(1.1)  # so long it may take until another process sees it
    late = stage.link.removeprefix(client.url)
    for path, headers in ((spare, {}), (late, {}), ("/console/inbox", {"Cookie": cookie})):
        reply = client.send("GET", path, headers=headers)
        assert (reply.status, reply.headers["location"][:16]) == (303, "/console/sign-in")
    stage.server.run(stage.server.registry.revoke("olga"))
    assert client.send("GET", "/console/inbox", headers={"Cookie": cookie}).status == 303
    assert "key=" not in "".join(stage.server.lines)


def test_who_came_by_a_link_cannot_make_admins(stage: Stage):
    cookie, token = entered(stage)

    def add(role: str) -> tuple[int, bytes]:
        body = f"name=mallory&role={role}&form_token={token}".encode()
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Cookie": cookie,
            "Sec-Fetch-Site": "same-origin",
        }
        reply = stage.server.client.send("POST", "/console/operators/add", body, headers)
        return reply.status, reply.body

    status, shown = add("admin")
    assert (status, b"operator add NAME --role admin" in shown) == (403, True)
    status, shown = add("reviewer")
    assert (status, b"mw_" in shown) == (200, True)


def test_behind_tls_every_cookie_is_secure(stage: Stage):
    client = stage.server.client
    for headers, secure in (({"X-Forwarded-Proto": "https"}, True), ({}, False)):
        for path in ("/console/inbox", stage.link.removeprefix(client.url)):
            reply = client.send("GET", path, headers=headers)
            assert ("Secure" in reply.headers["set-cookie"]) is secure


def test_a_revoked_token_is_out_at_once(stage: Stage, browser: Browser):
    olga = stage.server.operator("olga", "reviewer")
    with visiting(browser) as visit:
        page = visit.sign_in(stage, olga.token)
        stage.server.run(stage.server.registry.revoke("olga"))
        page.wait_for_timeout(1_100)
        assert visit.open(f"{stage.url}/inbox").title() == "Sign in · memorywire"


def test_a_form_of_a_visit_that_ended_says_that_nothing_was_done_and_leads_back(
    stage: Stage, browser: Browser
):
    stage.hold("Ana drinks tea")
    olga = stage.server.operator("olga", "reviewer")
    with visiting(browser) as visit:
        page = visit.sign_in(stage, olga.token)
        visit.open(f"{stage.url}/inbox?q=tea")
        visit.context.clear_cookies()  # as after a restart, or two hours of silence
        page.get_by_role("button", name="Approve", exact=True).click()
        page.get_by_role("alert").get_by_text("the action was not performed").wait_for()
        page.get_by_label("Token", exact=True).fill(olga.token or "")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/console/inbox?q=tea")
        assert "Ana drinks tea" in page.locator("#detail").inner_text()


def test_what_was_written_when_the_visit_ended_is_given_back_after_the_sign_in(
    stage: Stage, browser: Browser
):
    proposal = stage.hold("Ana drinks tea")
    olga = stage.server.operator("olga", "reviewer")
    with visiting(browser) as visit:
        page = visit.sign_in(stage, olga.token)
        page.keyboard.press("e")
        page.get_by_label("New content").fill("Ana drinks <b>green</b> tea\nat seven")
        visit.context.clear_cookies()
        page.get_by_role("button", name="Save and approve").click()
        page.get_by_role("alert").get_by_text("Your draft will be restored.").wait_for()
        page.get_by_label("Token", exact=True).fill(olga.token or "")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("The action was not performed").wait_for()
        given_back = page.locator("#notes pre").evaluate("pre => pre.lastChild.textContent")
        assert given_back == "Ana drinks <b>green</b> tea\nat seven"
        page.reload()
        assert page.locator("#notes pre").count() == 1
        visit.open(f"{stage.url}/inbox")
        assert page.locator("#notes pre").count() == 0
    assert olga.post("/v0/proposal", {"proposal_id": proposal}).json["proposal"]["state"] == "pending"


def test_what_was_written_into_a_form_of_another_visit_or_in_vain_is_given_back(stage: Stage):
    client = stage.server.client
    shown = client.get("/console/inbox")
    cookie = shown.headers["set-cookie"].partition(";")[0]
    [token] = set(re.findall(r'name="form_token" value="(\w+)"', shown.body.decode()))
    ours = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Cookie": cookie,
        "Sec-Fetch-Site": "same-origin",
    }
    written = "id=none&verb=edit&content=Ana+drinks+%3Cgreen%3E+tea&back=/console/inbox&form_token="
    other = client.send("POST", "/console/decide", f"{written}{'0' * len(token)}".encode(), ours)
    assert other.status == 403
    assert b"Ana drinks &lt;green&gt; tea" in other.body
    refused = client.send("POST", "/console/decide", f"{written}{token}".encode(), ours)
    assert refused.status == 303
    again = client.send("GET", refused.headers["location"], headers={"Cookie": cookie})
    assert b"Ana drinks &lt;green&gt; tea" in again.body


def test_the_link_of_a_receipt_leads_to_the_tenant_that_holds_it(stage: Stage, browser: Browser):
    root = stage.server.operator("root", "admin", tenants=["*"])
    asked = {"agent_id": "a", "type": "semantic", "content": "of acme", "approval_required": True}
    receipt = root.post("/v0/remember", asked, Memorywire_Tenant="acme").json
    path = f"/proposal?id={receipt['proposal_id']}&tenant=acme"
    with visiting(browser) as visit:
        page = visit.sign_in(stage, root.token)
        visit.open(f"{stage.url}{path}")
        assert "You are viewing tenant default" in page.locator("main").inner_text()
        page.get_by_role("button", name="Switch to tenant acme").click()
        page.wait_for_url(f"**/console{path}")
        assert "of acme" in page.locator("article").inner_text()
        assert page.locator("#whose").input_value() == "acme"
    with visiting(browser) as visit:
        page = visit.open(f"{stage.url}{path}")
        assert page.get_by_label(re.compile("Tenant")).input_value() == "acme"
        page.get_by_label("Token", exact=True).fill(root.token or "")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"**/console{path}")
        assert "of acme" in page.locator("article").inner_text()


def test_an_operator_of_several_tenants_sees_which_one_it_is_and_goes_to_another(
    stage: Stage, browser: Browser
):
    root = stage.server.operator("root", "admin", tenants=["*"])
    held = {}
    for tenant in ("acme", "beta"):
        asked = {"agent_id": "a", "type": "semantic", "content": f"of {tenant}"}
        for approval in (True, False):
            reply = root.post(
                "/v0/remember", {**asked, "approval_required": approval}, Memorywire_Tenant=tenant
            )
            held.setdefault(tenant, reply.json.get("proposal_id"))
    with visiting(browser) as visit:
        page = visit.sign_in(stage, root.token)
        assert page.locator("#whose").input_value() == "default"
        visit.open(f"{stage.url}/proposal?id={held['acme']}")
        assert "You are viewing tenant default" in page.locator("main").inner_text()
        page.locator("#whose").select_option("acme")
        page.wait_for_url("**/console/home")
        page.goto(f"{stage.url}/inbox")
        assert "of acme" in page.locator("#detail").inner_text()
        old = page.locator('form[data-act="approve"] input[name="form_token"]').get_attribute("value")
        page.locator("#whose").select_option("beta")
        page.get_by_text("of beta").first.wait_for()
        assert old != page.locator('input[name="form_token"]').first.get_attribute("value")
        assert "of acme" not in page.locator("main").inner_text()


def test_nobody_goes_to_a_tenant_that_is_not_theirs(stage: Stage, browser: Browser):
    ben = stage.server.operator("ben", "reviewer", tenants=["acme", "beta"])
    with visiting(browser) as visit:
        page = visit.open(f"{stage.url}/sign-in")
        page.get_by_label("Token", exact=True).fill(ben.token or "")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("status").get_by_text("has several tenants").wait_for()
        page.get_by_label("Token", exact=True).fill(ben.token or "")
        page.get_by_label(re.compile("Tenant")).fill("acme")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/console/home")
        assert page.locator("#whose option").all_inner_texts() == ["acme", "beta"]
        page.evaluate("document.querySelector('#whose option:not([selected])').textContent = 'default'")
        page.locator("#whose").select_option("default")
        page.get_by_role("status").get_by_text("your token does not cover this tenant").wait_for()
        assert page.locator("#whose").input_value() == "acme"


def test_nobody_is_offered_what_concerns_every_tenant_but_who_is_of_all(stage: Stage, browser: Browser):
    offered = []
    for name, tenants in (("root", ["*"]), ("adm", ["default"])):
        with visiting(browser) as visit:
            page = visit.sign_in(stage, stage.server.operator(name, "admin", tenants=tenants).token)
            sections = page.locator("#sections").inner_text()
            checks = visit.open(f"{stage.url}/health").get_by_text("Check stores").count()
            proofs = visit.open(f"{stage.url}/activity").get_by_text("Download checkpoint").count()
            offered.append(("Operators" in sections, checks, proofs))
    assert offered == [(True, 1, 1), (False, 0, 0)]


def test_a_stranger_sees_nothing_but_the_way_in(stage: Stage):
    client = stage.server.client
    stage.server.operator("olga")
    assert client.get("/console/events").status == 401
    for path in ("/console", "/console/inbox", "/console/proposal?id=x"):
        reply = client.get(path)
        assert reply.status == 303
        assert reply.headers["location"].startswith("/console/sign-in")
    assert client.get("/console/sign-in").status == 200
    assert client.send("POST", "/console/inbox").status == 404
    assert client.get("/console/decide").status == 404


def test_a_form_is_taken_only_from_our_own_pages(stage: Stage):
    client = stage.server.client
    shown = client.get("/console/inbox")
    cookie = shown.headers["set-cookie"].partition(";")[0]
    [token] = set(re.findall(r'name="form_token" value="(\w+)"', shown.body.decode()))
    form = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie}
    ours = {"Sec-Fetch-Site": "same-origin"}

    def send(body: str, **headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return client.send("POST", "/console/settings", body.encode(), form | named).status

    good = f"form_token={token}&theme=dark"
    assert send(good, **ours) == 303
    assert send(good) == 403
    assert send(good, Sec_Fetch_Site="cross-site") == 403
    assert send(good, Origin="https://elsewhere.example") == 403
    assert send("theme=dark", **ours) == 403
    assert send(f"form_token={'0' * len(token)}&theme=dark", **ours) == 403
    assert send(good, Cookie="", **ours) == 403


def test_a_link_on_another_site_leads_in_without_losing_the_session(stage: Stage):
    reply = stage.server.client.send(
        "GET",
        "/console/inbox",
        headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    )
    assert reply.status == 200
    assert b'http-equiv="refresh"' in reply.body
    assert "set-cookie" not in reply.headers
    assert (
        stage.server.client.send("GET", "/console/inbox", headers={"Sec-Fetch-Site": "cross-site"}).status
        == 403
    )


def test_every_answer_carries_the_policy_and_only_files_are_kept_by_browsers(stage: Stage):
    page = stage.server.client.get("/console/inbox")
    style = stage.server.client.get("/console/static/console.css")
    for reply in (page, style):
        assert reply.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
    assert page.headers["cache-control"] == "no-store"
    assert "immutable" in style.headers["cache-control"]
    assert stage.server.client.get("/console/static/none.css").status == 404
    assert stage.server.client.get("/console/nothing").status == 404


def test_the_address_itself_leads_to_the_console_with_and_without_operators(stage: Stage):
    client = stage.server.client
    assert client.get("/").headers["location"] == "/console"
    stage.server.operator("olga")
    reply = client.get("/")
    assert (reply.status, reply.headers["location"]) == (307, "/console")
