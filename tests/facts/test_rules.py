"""Rules in what people say: real ones are taken, remarks that begin alike are not."""

import pytest

from memorywire.facts.rules import find_rules, match_rule

REMARKS = """
Always nice to meet you!
Never gonna give you up
Never gonna let you down
Always a pleasure
Never a dull moment
Always happy to help
Never heard of it
Never mind
Never knew that
Always wondered about that
Never been there
Always on my mind
Never say never
Always look on the bright side of life
Never give up
Never let me go
Never again!
Always have, always will
Never better
Always good to see you
Never thought of it that way
Always the same story with him
Never too late to learn
Always something
Never ends, does this
Always fun talking to you
Never enough time
Always remember us this way
Never in my life
Always been a fan
Never saw it coming
Always loved that song
Never felt better
Always late, that bus
Never liked him much
Always had a soft spot for dogs
Never seen anything like it
Always forget how that works
Never fails to amaze me
Always great working with you
Never eaten sushi before
Always up for a challenge
Never one to complain
Always there when I need you
Never a good sign
Always darkest before the dawn
Never look back
Always be yourself
Never stop believing
Always the bridesmaid, never the bride
Never alone
Always wanted to see Japan
Never quite sure what to say
Always tired on Mondays
Never did like mornings
Always rains here
Never works for me
Always works on my machine
Never on time
Always raining in Bergen
Never worry, be happy
Always sunny in Philadelphia
Never had the chance to ask
Always interesting to hear that
Never trust a fart
Always winter and never Christmas
Never told anyone
Always in a hurry these days
Never really understood monads
Always impressed by your answers
Never got around to it
Always sad to leave
Never go back on your word
Always believe in yourself
Never easy, is it
Always hungry after swimming
Never used it myself
Always use to be like that
Never be afraid to ask
Always coffee first, then people
Never ever ever getting back together
Always and forever
Never coming back here
Always room for dessert
Never tell me the odds
Always keep smiling
Never make it to the gym
Always learning something new
Never a problem
Always liked the blue one
Never change!
Don't ever change!
Don't ever leave me
Don't you ever get tired
Don't worry about it any more
Remember that time we went to Rome
Remember that song from the nineties
From now on I am a vegetarian
From now on things will be better
From now on it gets easier
""".strip().splitlines()

RULES = """
blacklist|Never commit to main
blacklist|Never force-push to a shared branch
blacklist|Never deploy on Fridays
blacklist|Please never use emojis in commit messages
blacklist|Never delete files without asking me
blacklist|Never share my address with anybody
blacklist|Never store passwords in plain text
blacklist|Never mock the database in tests
blacklist|Never ever push without running the tests
blacklist|Don't ever edit generated files
blacklist|Don't use tabs any more
blacklist|Do not email the customer again without my approval
blacklist|Don't touch the vendor folder again
blacklist|From now on, never answer in English
blacklist|From now on don't add comments
blacklist|Never book a flight before nine
blacklist|Never order food with nuts
blacklist|Never merge without a review
blacklist|You must never log tokens
blacklist|Never write to production
blacklist|Never skip the changelog
blacklist|Never trust user input
blacklist|Never assume the time zone
blacklist|Never make changes to the schema without a migration
blacklist|Never let the build go out red... run make test first
do|Always run the tests before you push
do|Always use British spelling
do|Please always answer in German
do|Always sign commits
do|Always write tests first
do|Always ask before you delete something
do|Always use metric units
do|Always include a summary at the top
do|Always check the calendar first
do|Always cc Maria on invoices
do|Always round prices to two decimals
do|You should always quote your sources
do|Make sure you always format with ruff
do|From now on, use pnpm instead of npm
do|From now on please reply in French
do|From now on we deploy on Mondays
do|From now on only use the new API
do|Always keep answers short
do|Always give me the short version first
do|Always put the date in ISO format
do|Always wrap lines at 100 columns
do|Always explain your reasoning
do|Always validate input at the boundary
do|Always back up before a migration
do|Always, use type hints
do|Always tell me when you are not sure
do|Always make a branch first
do|Always take the train, not the plane
know|Remember that the office is closed on Fridays
know|Keep in mind that Ana is allergic to nuts
know|Note that the API key rotates monthly
know|For the record, my daughter's name is Mia
know|Remember that we use Postgres 16
know|Please remember that I work from Graz
know|Keep in mind that the budget is fixed
""".strip().splitlines()


def test_the_lists_are_long_enough():
    assert (len(set(REMARKS)) >= 100, len(set(RULES)) >= 60) == (True, True)


@pytest.mark.parametrize("remark", REMARKS)
def test_a_remark_with_always_or_never_is_no_rule(remark: str):
    assert [list(find_rules(text)) for text in (remark, remark.lower(), f"{remark}.")] == [[], [], []]


@pytest.mark.parametrize("line", RULES)
def test_a_real_rule_is_taken_with_its_kind(line: str):
    kind, sentence = line.split("|")
    assert match_rule(sentence) == kind
    assert next(iter(find_rules(sentence)))[0] == kind
