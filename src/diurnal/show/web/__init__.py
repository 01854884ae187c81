"""The service: one store over HTTP, for the head-end that sends readings, the public, and the custodian.

    app         the application: routes and what all requests pass
    settings    what an operator decides: where things are, who may come in, how much of everything
    middleware  what every request passes: its number, its limits, its answer's headers, its line in the log
    access      who may do what: tokens, roles, and how often one may guess; `tokens` keeps them, `limits` counts
    problems    one shape for everything that is refused
    service     the store behind it all: one thread writes, several read, none of them is the one that answers
    change_feed what is new in the store, and who waits for it
    public, ingest, custodian, health   the routes, by who they are for
    site        the pages for people, which ask the same routes
    arrow       a stream of record batches, checked before anything is made of it
    pages, events    reports as they are read: in pages that never change (`response_cache`), or as they come
    models      the shapes of questions and answers, for the description that programs read
    metrics     what the operator sees, with the log (`show/log.py`)
    limits, resources    how much of everything is allowed, and what the system has
    server      how it is run and stopped; `workers` where several processes answer

Nothing outside imports it: it needs the extra `web`.
"""
