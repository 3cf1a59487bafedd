"""Classes of words that the reader knows. A class decides a kind or a slot; no sentence is listed here."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DIETS = _words(
    """
    vegan vegetarian veggie pescatarian pescetarian flexitarian omnivore carnivore fruitarian keto paleo
    plant-based
    """
)
"""Diets that exclude each other: the newer one replaces the older."""

RULES_OF_FOOD = DIETS | _words(
    """
    kosher halal coeliac celiac coeliacs celiacs teetotal teetotaller gluten-free dairy-free nut-free
    lactose-free sugar-free alcohol-free low-carb low-fodmap meat-free lactose-intolerant gluten-intolerant
    """
)

CONDITIONS = _words(
    """
    diabetic asthmatic epileptic dyslexic dyspraxic dyscalculic autistic adhd bipolar anaemic anemic
    color-blind colour-blind colourblind colorblind blind deaf deafblind hard-of-hearing short-sighted
    near-sighted nearsighted long-sighted farsighted partially-sighted visually-impaired hearing-impaired
    pregnant breastfeeding nursing immunocompromised arthritic claustrophobic agoraphobic left-handed
    right-handed ambidextrous neurodivergent disabled paraplegic quadriplegic hypertensive seasick carsick
    airsick photosensitive narcoleptic haemophiliac hemophiliac sober insomniac tetraplegic mute nonverbal
    dairy-intolerant wheelchair-bound postpartum prediabetic hypoglycaemic hypoglycemic
    """
)

ILLNESSES = _words(
    """
    diabetes asthma epilepsy dyslexia dyspraxia autism adhd anaemia anemia migraine migraines arthritis
    parkinson's parkinsons alzheimer's alzheimers dementia cancer eczema psoriasis hayfever rhinitis allergy
    allergies intolerance intolerances ibs crohn's crohns colitis reflux gerd hypertension tinnitus vertigo
    insomnia depression anxiety ptsd ocd lupus sciatica scoliosis osteoporosis gout pcos endometriosis
    fibromyalgia hypothyroidism hyperthyroidism haemophilia hemophilia cataracts glaucoma astigmatism myopia
    pacemaker prosthesis condition disability impairment bronchitis copd sclerosis leukaemia leukemia stroke
    coeliac celiac hearing eyesight back knee knees heart hip shoulder wrist fever phobia disorder recovery
    remission stammer stutter syndrome disease apnoea apnea pressure cholesterol
    """
)

FOODS = _words(
    """
    nuts nut peanuts peanut dairy milk cheese butter eggs egg gluten wheat meat pork beef lamb chicken fish
    shellfish seafood prawns shrimp soy soya sesame alcohol wine beer spirits sugar caffeine coffee tea
    spicy spice tofu mushrooms mushroom onions onion garlic coriander cilantro olives olive tomatoes tomato
    celery mustard lactose bread pasta rice chocolate honey gelatine gelatin bacon ham cashews almonds
    walnuts hazelnuts pistachios strawberries kiwi bananas banana avocado potatoes oats legumes beans
    lentils carbs sweets cake food foods meals breakfast lunch dinner juice soda water liquor cocktails
    whisky gin
    """
)

KIN = _words(
    """
    wife husband partner spouse fiancé fiancée fiance fiancee girlfriend boyfriend mother father mom mum
    mama dad papa parents sister brother siblings sibling daughter son kids kid children child baby toddler
    newborn twins twin grandmother grandfather grandma grandpa granny grandad granddad gran nan grandparents
    grandson granddaughter grandchild grandchildren grandkids aunt uncle auntie cousin cousins niece nephew
    nieces nephews mother-in-law father-in-law sister-in-law brother-in-law in-laws stepmother stepfather
    stepson stepdaughter stepdad stepmum stepmom stepsister stepbrother godmother godfather godson
    goddaughter family gf bf hubby missus ex ex-wife ex-husband other-half better-half sons daughters
    sisters brothers aunts uncles boys girls folks
    """
)

PEOPLE = KIN | _words(
    """
    boss manager supervisor colleague coworker co-worker teammate friend neighbour neighbor roommate
    flatmate housemate landlord landlady tenant mentor intern assistant secretary client customer supervisor
    teacher tutor coach trainer therapist doctor gp dentist physio physiotherapist vet accountant lawyer
    solicitor nanny babysitter cleaner gardener bookkeeper hairdresser cofounder co-founder ceo cto cfo lead
    lodger pa bestie midwife optician cardiologist dermatologist psychiatrist counsellor counselor carer
    caregiver guest editor agent contractor electrician plumber builder
    """
)

PETS = _words(
    """
    dog dogs cat cats puppy puppies kitten kittens parrot budgie budgies rabbit rabbits bunny hamster
    hamsters guinea-pig guinea-pigs goldfish tortoise turtle horse horses pony ponies ferret ferrets
    chinchilla gecko snake lizard canary chickens hens ducks goats sheep labrador retriever greyhound
    terrier spaniel poodle collie dachshund beagle bulldog husky corgi whippet lurcher tabby siamese ragdoll
    cockatiel bearded-dragon pet pets aquarium llama alpaca donkey bees hedgehog axolotl pug chihuahua
    mongrel mutt rat rats mouse gerbil gerbils
    """
)

THINGS = _words(
    """
    car van truck lorry motorbike motorcycle scooter moped bike bicycle e-bike ebike caravan campervan boat
    house flat apartment condo bungalow cottage studio garden allotment balcony terrace garage cellar
    greenhouse oven hob cooker stove fridge freezer dishwasher boiler microwave kettle airfryer thermostat
    washing-machine dryer grill barbecue piano guitar violin cello drums drumkit trumpet flute saxophone
    ukulele keyboard camera laptop computer pc desktop macbook mac imac ipad tablet phone iphone smartphone
    monitor printer router modem tv television console playstation xbox switch watch smartwatch headset
    headphones speaker drone telescope server nas gpu model licence licences license licenses seat seats
    subscription account accounts membership passport visa permit degree diploma phd master's masters
    bachelor's certificate certification tattoo tattoos glasses contacts wheelchair hearing-aid hearing-aids
    crutches cane walker mortgage lease pool fireplace sauna workshop company business startup shop store
    cafe restaurant practice farm blog podcast channel website cabin chalet villa shed barn loft attic
    basement attic device devices employees staff machine machines panels heat-pump kayak canoe surfboard
    skis snowboard tent
    """
)


PLANS = _words("plan tier subscription package tariff licence license membership contract account edition")

MEETINGS = _words(
    """
    appointment appointments meeting interview exam exams flight deadline wedding party birthday lesson
    lessons class classes surgery operation scan check-up checkup delivery viewing concert trip holiday
    vacation conference workshop presentation reservation booking anniversary reunion funeral graduation
    marathon race shift test honeymoon recital match game rehearsal audition ceremony session consultation
    date dinner demo launch
    """
)

EVENTS = _words(
    """
    baby operation surgery accident stroke fall miscarriage heart-attack transplant bypass c-section scan
    biopsy miscarriage breakdown fracture knee hip daughter son child twins
    """
)

JOBS = _words(
    """
    nurse doctor chef cook pilot paralegal student clerk guard judge plumber vet gp ceo cto cfo coo
    freelancer freelance intern apprentice trainee carpenter mechanic electrician journalist barista cashier
    surgeon midwife postdoc professor undergrad undergraduate postgrad researcher scientist farmer baker
    butcher dentist sailor soldier officer nanny au-pair secretary receptionist consultant contractor
    developer engineer programmer designer architect analyst accountant lawyer solicitor barrister teacher
    lecturer tutor principal headteacher librarian historian musician actor actress dancer painter sculptor
    author writer poet editor copywriter translator interpreter photographer filmmaker director producer
    manager lead head founder co-founder cofounder owner landlord landlady realtor broker trader banker
    economist statistician mathematician physicist chemist biologist pharmacist optician therapist
    psychologist psychiatrist counsellor counselor coach trainer paramedic firefighter policeman policewoman
    detective sysadmin admin administrator devops sre dba tester qa recruiter hr salesperson salesman
    saleswoman seller buyer merchandiser marketer strategist planner coordinator supervisor driver courier
    postman postwoman hairdresser barber beautician tailor florist gardener landscaper builder bricklayer
    roofer welder machinist operator technician technologist physiotherapist physio radiographer radiologist
    cardiologist oncologist anaesthetist anesthetist dermatologist veterinarian zookeeper ranger guide
    pensioner retiree retired homemaker housewife househusband volunteer priest pastor rabbi imam vicar
    minister politician diplomat councillor civil-servant bookkeeper auditor actuary underwriter
    paediatrician pediatrician geologist astronomer archaeologist anthropologist sociologist linguist
    philosopher curator composer conductor violinist pianist cellist guitarist drummer singer dj comedian
    stand-up streamer youtuber blogger podcaster bartender waiter waitress sommelier sous-chef dishwasher
    cleaner janitor caretaker concierge porter
    """
)

NOT_JOBS = _words(
    """
    minimalist perfectionist optimist pessimist realist millionaire billionaire beginner believer
    procrastinator customer member user winner loser stranger newcomer mother father brother sister daughter
    teenager foreigner outsider idealist purist masochist hoarder sucker dreamer number matter laugher
    cancer transformer
    """
)

JOB_ENDINGS = tuple("ologist ographer ician grapher keeper smith wright engineer developer".split())

LANGUAGES = _words(
    """
    english spanish french german italian portuguese polish dutch swedish norwegian danish finnish icelandic
    irish welsh scottish gaelic basque catalan galician greek turkish russian ukrainian czech slovak slovene
    slovenian croatian serbian bosnian bulgarian romanian hungarian albanian macedonian estonian latvian
    lithuanian arabic hebrew persian farsi urdu hindi bengali punjabi gujarati tamil telugu marathi kannada
    malayalam nepali sinhala thai vietnamese khmer lao burmese malay indonesian tagalog filipino mandarin
    cantonese chinese japanese korean swahili amharic yoruba igbo hausa zulu xhosa afrikaans esperanto latin
    bsl asl british american
    """
)

NATIONS = LANGUAGES | _words(
    """
    canadian australian austrian swiss belgian brazilian argentinian argentine mexican chilean colombian
    peruvian venezuelan cuban jamaican kenyan nigerian ghanaian ethiopian egyptian moroccan tunisian
    algerian israeli lebanese syrian iraqi iranian indian pakistani bangladeshi singaporean malaysian
    taiwanese scottish kiwi jewish muslim christian catholic protestant hindu buddhist sikh atheist agnostic
    mormon quaker european african asian latino latina black white gay lesbian bisexual trans transgender
    nonbinary non-binary queer straight asexual scouse orthodox anglican
    """
)

STATES = _words(
    """
    married single divorced separated engaged widowed retired unemployed self-employed freelance vegetarian
    adopted homeschooled bilingual trilingual childless
    """
)

LANGUAGES_OF_CODE = _words(
    """
    python java javascript typescript rust golang c++ c# ruby php kotlin swift scala haskell elixir erlang
    clojure lua perl julia dart zig ocaml f# fortran cobol sql bash powershell matlab
    """
)

DATABASES = _words(
    """
    postgres postgresql mysql mariadb sqlite oracle mongodb mongo redis cassandra dynamodb cockroachdb
    clickhouse duckdb snowflake bigquery neo4j elasticsearch opensearch couchdb firestore supabase
    timescaledb mssql
    """
)

EDITORS = _words(
    "vim neovim nvim emacs vscode pycharm intellij webstorm sublime helix zed xcode eclipse rider goland"
)

SYSTEMS = _words(
    """
    linux windows macos ubuntu debian fedora arch nixos centos rhel alpine android ios ipados chromeos
    freebsd mint manjaro wsl
    """
)

QUEUES = _words("kafka rabbitmq sqs nats pulsar celery sidekiq zeromq activemq")

TOOLS = (
    LANGUAGES_OF_CODE
    | DATABASES
    | EDITORS
    | SYSTEMS
    | QUEUES
    | _words(
        """
    git github gitlab bitbucket docker podman kubernetes k8s helm terraform ansible pulumi jenkins circleci
    travis argo argocd nginx apache caddy traefik aws gcp azure heroku vercel netlify cloudflare django
    flask fastapi rails laravel react vue angular svelte nextjs nuxt node nodejs deno bun webpack vite
    pytest unittest jest vitest mocha cypress playwright selenium ruff mypy eslint prettier poetry uv pip
    conda npm yarn pnpm maven gradle bazel cmake zsh tmux slack teams zoom jira linear trello asana notion
    confluence figma sketch photoshop excel powerpoint keynote outlook gmail thunderbird obsidian evernote
    todoist spotify sentry datadog grafana prometheus splunk pagerduty salesforce hubspot sap xero
    quickbooks stripe paypal numpy pandas pytorch tensorflow jax spark airflow dbt tailwind graphql grpc
    protobuf json yaml toml trunk main
    """
    )
)

CONFIGURED = _words(
    """
    server servers database databases cluster repo repository branch port host hostname endpoint api backend
    frontend front-end back-end stack pipeline ci cd build builds deployment deploy deploys release releases
    version environment staging production prod sandbox bucket queue cache domain url router network wifi
    wi-fi password ssid vpn proxy gateway cluster namespace registry image container dockerfile compose
    config configuration setting settings timeout limit indent indentation linter formatter style convention
    framework language runtime compiler editor ide shell terminal os operating-system license schema table
    tables migration migrations dates timestamps logs metrics dashboard alerts ticket tickets issue project
    app application service services microservice module package library codebase monorepo tests test suite
    coverage fiscal year sprint sprints standup stand-up quarter invoice invoices report reports client
    customer boiler thermostat alarm heating node function functions commits commit messages docs
    documentation comments variables branches currency format encoding charset locale timezone quota team
    office website site newsletter length width spacing quotes padding folder directory
    """
)

TASTES = _words(
    """
    answers replies responses emails summaries drafts messages explanations bullets bullet examples code
    text sentences paragraphs recipes suggestions reports slides seats seat rooms room flights trains hotels
    meetings reply answer response email summary draft output comments headings units prices dates times
    tables charts
    """
)

WEEKDAYS = _words(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays
    saturdays sundays weekend weekends weekday weekdays
    """
)

MONTHS = _words(
    """
    january february march april june july august september october november december jan feb mar apr jun
    jul aug sep sept oct nov dec spring summer autumn winter easter christmas ramadan diwali hanukkah
    thanksgiving
    """
)

VAGUE = _words(
    """
    it this that them those these you your something anything nothing everything someone somebody anyone
    nobody how what when why who where whether which here there one ones him her his its their he she they
    so not too to just all
    """
)

SLOT_OF_NOUN = {
    noun: slot.strip()
    for slot, _, nouns in (
        entry.partition(":")
        for entry in """
    home: home house flat apartment; address: address postcode; phone: phone mobile telephone cell landline;
    email: email e-mail mail; employer: employer company firm workplace; job: job title role position
    profession occupation; birthday: birthday birthdate; name: name surname nickname firstname; pronouns:
    pronouns pronoun; blood_type: blood; timezone: timezone zone; plan: plan tier subscription tariff
    package; order: order; account: account username login handle; partner: wife husband partner spouse
    girlfriend boyfriend fiancé fiancée fiance fiancee; manager: boss manager supervisor; landlord: landlord
    landlady; children: kids kid children child sons daughters boys girls twins; doctor: doctor gp; car: car
    van truck; budget: budget; size: size; height: height; weight: weight; passport: passport; visa: visa;
    language: language tongue; diet: diet; allergy: allergy allergies intolerance; religion: religion faith;
    school: school university college; database: database db; editor: editor ide; system: os; branch:
    branch; port: port; pet: dog cat puppy kitten pet parrot rabbit hamster horse; anniversary: anniversary;
    currency: currency
    """.replace("\n", " ").split("; ")
    )
    for noun in nouns.split()
}
"""The slot of a thing that somebody has, by the noun."""

SINGLE = frozenset(
    """
    name home employer job language birthday age partner phone email address plan timezone pronouns budget
    database editor system branch port height weight blood_type manager landlord car passport visa currency
    account birthplace nationality marital_status deploy_day meeting_time diet answer_language religion
    contact queue address_form favourite salary doctor schedule
    """.split()
)
"""Slots with one value at a time."""

LIKES = {"like": 1, "love": 1, "enjoy": 1, "prefer": 1, "adore": 1, "hate": -1, "dislike": -1, "detest": -1}
"""Verbs of taste: whether somebody likes a thing or not."""
