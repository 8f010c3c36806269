// The API's types, generated from its OpenAPI document by `node scripts/docs.ts`.

export interface paths {
    "/v1/destinations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List destinations, newest first
         * @description Needs the scope `read`.
         */
        get: operations["listDestinations"];
        put?: never;
        /**
         * Register a destination
         * @description Needs the scope `manage`.
         */
        post: operations["createDestination"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/destinations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a destination
         * @description Needs the scope `read`.
         */
        get: operations["readDestination"];
        put?: never;
        post?: never;
        /**
         * Delete a destination for good
         * @description Its subscriptions go too, and its unfinished deliveries end `dead`. No attempt begins after the 204. Needs the scope `manage`.
         */
        delete: operations["deleteDestination"];
        options?: never;
        head?: never;
        /**
         * Change, pause or reactivate a destination
         * @description Fields that are given are replaced whole; null clears those that are optional. In `headers`, the value `***` keeps what is stored. The change holds for the next attempt of every unfinished delivery. Needs the scope `manage`.
         */
        patch: operations["updateDestination"];
        trace?: never;
    };
    "/v1/destinations/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send one request now, and say what came back
         * @description Signed and made as any attempt, with the header `postrider-test: true`; also while the destination is paused. It is in no list and counts nowhere. At most one a second and destination, and 10 at once on each node. Answers when the receiver has, or its timeout is over. Needs the scope `manage`.
         */
        post: operations["testDestination"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read what was counted, step by step
         * @description Every step of the range, zeros included, of the environment, one destination or one event type. Minutes are kept for 48 hours, hours for 90 days: with a step below 1h, what lies further back stands in the first step of its hour. By event type, deliveries that expire or whose destination is deleted are not counted as dead. A step that runs has what the node that is asked has counted, and what the others had ten seconds ago. A crash loses ten seconds at most. Needs the scope `read`.
         */
        get: operations["readStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stats/now": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read how things are just now, and what is in trouble
         * @description Of the environment, on all nodes: what other nodes tell is up to ten seconds old, and the number of what waits up to a minute. Needs the scope `read`.
         */
        get: operations["readStatsNow"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/destinations/{id}/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read how a destination is doing
         * @description Needs the scope `read`.
         */
        get: operations["readDestinationHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/destinations/{id}/signing-keys/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a new signing key, or bring one along
         * @description Needs the scope `manage`.
         */
        post: operations["rotateSigningKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/destinations/{id}/signing-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the keys that sign, newest first, without their secrets
         * @description Needs the scope `read`.
         */
        get: operations["listSigningKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/destinations/{id}/signing-keys/{key_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End an old signing key now, and with it the overlap
         * @description Needs the scope `manage`.
         */
        delete: operations["endSigningKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List subscriptions, newest first
         * @description Needs the scope `read`.
         */
        get: operations["listSubscriptions"];
        put?: never;
        /**
         * Subscribe a destination to events
         * @description If the destination has the same subscription already, the answer is 200 with the one that exists. Needs the scope `manage`.
         */
        post: operations["createSubscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subscriptions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a subscription
         * @description Needs the scope `read`.
         */
        get: operations["readSubscription"];
        put?: never;
        post?: never;
        /**
         * Delete a subscription
         * @description Events posted after the 204 no longer go through it; deliveries that exist go on. Needs the scope `manage`.
         */
        delete: operations["deleteSubscription"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List events, newest first
         * @description Needs the scope `read`.
         */
        get: operations["listEvents"];
        put?: never;
        /**
         * Accept an event
         * @description When the 202 arrives, the event and its deliveries are stored for good. The same request under the same idempotency key gets 200 and what was stored the first time. Needs the scope `publish`.
         */
        post: operations["createEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an event with its body and its deliveries
         * @description The body is as it was posted; null once it has been erased. Of its deliveries the newest 10,000. Needs the scope `read`.
         */
        get: operations["readEvent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send an event again to destinations that subscribe to it now
         * @description Needs the scope `operate`.
         */
        post: operations["replayEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept up to 1,000 events
         * @description Each event gets the result that it would get by itself; those that are good are accepted. A batch makes at most 100,000 deliveries: from the first event on that does not fit, results are `unavailable`, to be sent again in another batch. Needs the scope `publish`.
         */
        post: operations["createEvents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Say which subscriptions want an event, and why others do not
         * @description Of an event that was accepted, or of one that might be: every subscription whose pattern matches, or would with one segment of the event type more or less, with each condition of its filter, as subscriptions are now. Nothing is sent or stored. Needs the scope `read`.
         */
        post: operations["explainEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List deliveries, newest first
         * @description Needs the scope `read`.
         */
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deliveries/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a delivery with the whole history of its attempts
         * @description Needs the scope `read`.
         */
        get: operations["readDelivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/deliveries/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make one attempt now
         * @description Outside the schedule, whatever the delivery’s status, even while its destination is paused. While an attempt is under way or a forced one waits, nothing is added. Needs the scope `operate`.
         */
        post: operations["retryDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dlq": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List dead deliveries, newest first
         * @description Needs the scope `read`.
         */
        get: operations["listDeadDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dlq/{delivery_id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a dead delivery a fresh schedule
         * @description It becomes `pending`; its history is kept. A delivery that is not dead is not in the DLQ: 404. Needs the scope `operate`.
         */
        post: operations["replayDeadDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow what happens, as it happens
         * @description Server-sent events, without end: `event` names the kind, `data` is JSON, a row as lists show it. `event`: an event was accepted; `attempt`: an attempt was recorded, with `delivery_id`; `delivery`: one was created or changed; `destination`: one was created, changed or deleted (`{id, deleted: true}`). `gap`: messages are missing, `{"missed": n}`, null if nobody knows how many. The header `Last-Event-ID` goes on after the message of that id. A comment comes every 15 seconds. Needs the scope `read`.
         */
        get: operations["stream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/dlq/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give many dead deliveries a fresh schedule
         * @description Every one in the DLQ that the filter selects; without a filter, all of them. Needs the scope `operate`.
         */
        post: operations["replayDeadDeliveries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/destinations/{id}/recover": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a destination what it has missed
         * @description Its dead deliveries get a fresh schedule, and those that wait for a retry go out now, even while it is paused. Needs the scope `operate`.
         */
        post: operations["recoverDestination"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send many old events again
         * @description New deliveries, by the subscriptions as they are when each event has its turn. Events whose body has been erased are left out. Needs the scope `operate`.
         */
        post: operations["replayEvents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List operations, newest first
         * @description Needs the scope `read`.
         */
        get: operations["listOperations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an operation, and how far it has come
         * @description Needs the scope `read`.
         */
        get: operations["readOperation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End an operation where it is
         * @description What it has done stays done. Needs the scope `operate`.
         */
        post: operations["cancelOperation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Hold an operation until it is resumed
         * @description Needs the scope `operate`.
         */
        post: operations["pauseOperation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let a paused operation go on where it was
         * @description Needs the scope `operate`.
         */
        post: operations["resumeOperation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List API keys, newest first
         * @description Needs the scope `admin`.
         */
        get: operations["listApiKeys"];
        put?: never;
        /**
         * Make an API key
         * @description Its text is in the answer and nowhere else. `mode` is that of the calling key unless given. Needs the scope `admin`.
         */
        post: operations["createApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/api-keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API key
         * @description It is refused at once here, and within a second on every node. Needs the scope `admin`.
         */
        delete: operations["revokeApiKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/cluster": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the nodes of the cluster, and the work they share
         * @description With the embedded store there is one, which owns every shard. Needs the scope `admin`.
         */
        get: operations["readCluster"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process is alive */
        get: operations["checkHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the store can be reached and deliveries go out */
        get: operations["checkReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics for Prometheus
         * @description If the setting `METRICS_TOKEN` is set, it is the bearer token to give here.
         */
        get: operations["readMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document */
        get: operations["readOpenapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tell which sessions of the dashboard this browser has */
        get: operations["listSessions"];
        put?: never;
        /**
         * Sign in to the dashboard with an API key
         * @description Sets a cookie, `postrider_test` or `postrider_live`, by which requests of the dashboard’s own pages are made with the key. It counts only with the header `postrider-mode: test` or `live`, and for no page of another origin. The session ends after 8 hours, with its key, or at a sign-out.
         */
        post: operations["signIn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/session/{mode}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Sign out of the dashboard
         * @description `mode`: `test` or `live`. A session that is not there, or has ended, is no fault.
         */
        delete: operations["signOut"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    event: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * An event, for one destination
         * @description Sent to the destination’s `url`, and signed as Standard Webhooks 1.0.0 has it. At least once and in no order: drop what has a `webhook-id` that you have seen. The headers that the destination was given come too. Anything but a 2xx within the time-out is tried again by its retry policy; redirects are not followed.
         */
        post: operations["receiveEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "postrider.destination.paused": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A destination was paused, by a request (`manual`), for failing too long, or because it answered 410.
         * @description Sent as any event.
         */
        post: operations["receiveDestinationPaused"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "postrider.destination.recovered": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * The first success of a destination that was paused before, or failing.
         * @description Sent as any event.
         */
        post: operations["receiveDestinationRecovered"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "postrider.delivery.dead": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A delivery ended without success.
         * @description Sent as any event.
         */
        post: operations["receiveDeliveryDead"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "postrider.backlog.growing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * A thousand deliveries or more wait for a destination, and more with every minute.
         * @description Sent as any event.
         */
        post: operations["receiveBacklogGrowing"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        RetrySchedule: {
            /**
             * @description The delays between attempts; `[]`: one attempt only.
             * @example [
             *       5,
             *       300,
             *       1800
             *     ]
             */
            schedule_seconds: number[];
            timeout_seconds?: number;
            jitter?: number;
        };
        /** @description The delays `min(initial_seconds × factor^n, max_seconds)` for `max_attempts` attempts (10, 5, 3 and 86,400 where only some of them are given); without any of the four: the default schedule. */
        RetryFormula: {
            max_attempts?: number;
            initial_seconds?: number;
            factor?: number;
            max_seconds?: number;
            timeout_seconds?: number;
            jitter?: number;
        };
        /** @description Either a list of delays or a formula for them. Absent or null: 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h. Each delay is lengthened by up to `jitter` (0.2). An attempt has `timeout_seconds` (15). */
        RetryPolicy: components["schemas"]["RetrySchedule"] | components["schemas"]["RetryFormula"];
        /**
         * @description `standard` (the default): the headers of Standard Webhooks. `svix`: beside them `svix-id`, `svix-timestamp` and `svix-signature` with the same values, for receivers that verify with a library of Svix.
         * @enum {string}
         */
        SignatureStyle: "standard" | "svix";
        DestinationInput: {
            /**
             * Format: uri
             * @description An https URL with a public host (test mode: http too), of at most 2048 characters.
             * @example https://example.com/webhooks
             */
            url: string;
            /** @example Orders of ACME */
            name?: string | null;
            retry_policy?: components["schemas"]["RetryPolicy"] | null;
            /** @description Requests to this destination at one time. Default 50. */
            max_in_flight?: number | null;
            /** @description Attempts a second on average; null: no limit. */
            rate_per_second?: number | null;
            /**
             * @description Headers that every request to the destination carries. Reads show their names, with `***` as values.
             * @example {
             *       "x-tenant": "acme"
             *     }
             */
            headers?: {
                [key: string]: string;
            } | null;
            signature_style?: components["schemas"]["SignatureStyle"] | null;
            /**
             * @description Anything worth keeping with the destination; at most 8192 bytes as minified JSON.
             * @example {
             *       "team": "billing"
             *     }
             */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /**
             * @description A key that the receiver has already: `whsec_` and base64 of 24 to 64 bytes. Absent: a new one is made.
             * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw8M1Zu3M1f0I=
             */
            signing_secret?: string | null;
        };
        /** @enum {string} */
        DestinationStatus: "active" | "paused";
        /** @enum {string} */
        PausedReason: "manual" | "failing" | "gone";
        CreatedDestination: {
            /** @example dst_01kg9qz3xefa3vqtdw5f0bz7ra */
            id: string;
            /**
             * Format: uri
             * @description An https URL with a public host (test mode: http too), of at most 2048 characters.
             * @example https://example.com/webhooks
             */
            url: string;
            name: string | null;
            status: components["schemas"]["DestinationStatus"];
            paused_reason: components["schemas"]["PausedReason"] | null;
            retry_policy: components["schemas"]["RetryPolicy"] | null;
            /** @description Requests to this destination at one time. Default 50. */
            max_in_flight: number;
            /** @description Attempts a second on average; null: no limit. */
            rate_per_second: number | null;
            /**
             * @description Headers that every request to the destination carries. Reads show their names, with `***` as values.
             * @example {
             *       "x-tenant": "acme"
             *     }
             */
            headers: {
                [key: string]: string;
            };
            signature_style: components["schemas"]["SignatureStyle"];
            /**
             * @description Anything worth keeping with the destination; at most 8192 bytes as minified JSON.
             * @example {
             *       "team": "billing"
             *     }
             */
            metadata: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description When it was registered.
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed, by a request or by an automatic pause.
             * @example 2026-01-31T09:30:00.000Z
             */
            updated_at: string;
            /**
             * @description `whsec_` and the key in base64 (Standard Webhooks). Shown this once.
             * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw8M1Zu3M1f0I=
             */
            signing_secret: string;
        };
        /** @enum {string} */
        ErrorCode: "invalid_request" | "invalid_url" | "invalid_event_type" | "invalid_event_type_pattern" | "invalid_filter" | "invalid_cursor" | "unauthorized" | "forbidden" | "destination_not_found" | "subscription_not_found" | "delivery_not_found" | "event_not_found" | "not_found" | "method_not_allowed" | "idempotency_key_conflict" | "rotation_in_progress" | "operation_in_progress" | "operation_ended" | "delivery_too_old" | "event_too_old" | "body_too_large" | "unsupported_media_type" | "url_not_reachable" | "destination_not_subscribed" | "over_destination_limit" | "over_subscription_limit" | "over_fanout_limit" | "over_operation_limit" | "rate_limited" | "internal_error" | "unavailable";
        ErrorDetails: {
            code: components["schemas"]["ErrorCode"];
            /** @description What to do, for people. Do not match on it. */
            message: string;
            /** @example req_01kg9qz3xefa3vqtdw5f0bz7ra */
            request_id: string;
            /** @description The one field to blame: a JSON pointer into the body, or the name of a query parameter. */
            param?: string;
            /**
             * @description With `operation_in_progress`: the operation that was asked for before.
             * @example op_01kg9qz3xefa3vqtdw5f0bz7ra
             */
            operation_id?: string;
        };
        Error: {
            error: components["schemas"]["ErrorDetails"];
        };
        /**
         * @description `paused`: it gets no attempts. `failing`: nothing has succeeded since at least three failed attempts, or since one ten seconds ago. `idle`: nothing was attempted in 24 hours. `healthy`: none of these.
         * @enum {string}
         */
        DestinationState: "healthy" | "failing" | "paused" | "idle";
        /** @description Where a list goes on. `next_cursor` of the previous page; the filters must stay the same. */
        Cursor: string;
        Destination: {
            /** @example dst_01kg9qz3xefa3vqtdw5f0bz7ra */
            id: string;
            /**
             * Format: uri
             * @description An https URL with a public host (test mode: http too), of at most 2048 characters.
             * @example https://example.com/webhooks
             */
            url: string;
            name: string | null;
            status: components["schemas"]["DestinationStatus"];
            paused_reason: components["schemas"]["PausedReason"] | null;
            retry_policy: components["schemas"]["RetryPolicy"] | null;
            /** @description Requests to this destination at one time. Default 50. */
            max_in_flight: number;
            /** @description Attempts a second on average; null: no limit. */
            rate_per_second: number | null;
            /**
             * @description Headers that every request to the destination carries. Reads show their names, with `***` as values.
             * @example {
             *       "x-tenant": "acme"
             *     }
             */
            headers: {
                [key: string]: string;
            };
            signature_style: components["schemas"]["SignatureStyle"];
            /**
             * @description Anything worth keeping with the destination; at most 8192 bytes as minified JSON.
             * @example {
             *       "team": "billing"
             *     }
             */
            metadata: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description When it was registered.
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed, by a request or by an automatic pause.
             * @example 2026-01-31T09:30:00.000Z
             */
            updated_at: string;
        };
        DestinationPage: {
            data: components["schemas"]["Destination"][];
            /** @description Whether there are more rows. A page may be short and have more all the same. */
            has_more: boolean;
            /** @description Where a list goes on. `next_cursor` of the previous page; the filters must stay the same. */
            next_cursor: string | null;
        };
        DestinationPatch: {
            /**
             * Format: uri
             * @description An https URL with a public host (test mode: http too), of at most 2048 characters.
             * @example https://example.com/webhooks
             */
            url?: string;
            status?: components["schemas"]["DestinationStatus"];
            /** @example Orders of ACME */
            name?: string | null;
            retry_policy?: components["schemas"]["RetryPolicy"] | null;
            /** @description Requests to this destination at one time. Default 50. */
            max_in_flight?: number | null;
            /** @description Attempts a second on average; null: no limit. */
            rate_per_second?: number | null;
            /**
             * @description Headers that every request to the destination carries. Reads show their names, with `***` as values.
             * @example {
             *       "x-tenant": "acme"
             *     }
             */
            headers?: {
                [key: string]: string;
            } | null;
            signature_style?: components["schemas"]["SignatureStyle"] | null;
            /**
             * @description Anything worth keeping with the destination; at most 8192 bytes as minified JSON.
             * @example {
             *       "team": "billing"
             *     }
             */
            metadata?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * @description 2-10 segments of `A-Z a-z 0-9 _ -`, joined by dots.
         * @example order.paid
         */
        EventType: string;
        /** @description What is sent. */
        TestInput: {
            type?: components["schemas"]["EventType"];
            /**
             * @description What the destinations get: kept and delivered byte for byte, at most 262,144 bytes.
             * @example {
             *       "order_id": "A-1001",
             *       "total": 129.9,
             *       "currency": "EUR"
             *     }
             */
            body?: {
                [key: string]: unknown;
            };
        };
        /** @enum {string} */
        AttemptTrigger: "schedule" | "manual";
        /** @enum {string} */
        Outcome: "succeeded" | "bad_status" | "timed_out" | "connect_failed" | "dns_failed" | "tls_failed" | "blocked" | "reset" | "invalid_response" | "cancelled";
        /** @enum {string} */
        BodyEncoding: "utf8" | "base64";
        TestAttempt: {
            /** @description Counts from 1. */
            attempt: number;
            trigger: components["schemas"]["AttemptTrigger"];
            /**
             * Format: date-time
             * @description When the request began.
             * @example 2026-01-31T09:30:00.000Z
             */
            started_at: string;
            duration_ms: number;
            outcome: components["schemas"]["Outcome"];
            response_code: number | null;
            response_headers: {
                [key: string]: string[];
            } | null;
            /** @description What was kept of it; null: no response, or no longer kept. */
            response_body: string | null;
            response_body_encoding: components["schemas"]["BodyEncoding"] | null;
            response_body_truncated: boolean;
            error: string | null;
            /** @description What the receiver got. */
            request: {
                /** @description Those that the service writes, and the destination’s own, whose values are `***`. Empty: it never came to be written. */
                headers: {
                    [key: string]: string[];
                };
                /** @description As it was sent and signed. */
                body: string;
            };
        };
        /**
         * @description Steps begin at whole multiples of it, in UTC. Default: 1m; with `since` the shortest that makes at most 1500 points.
         * @enum {string}
         */
        StatsStep: "1m" | "5m" | "1h" | "1d";
        AttemptsByOutcome: {
            succeeded: number;
            bad_status: number;
            timed_out: number;
            connect_failed: number;
            dns_failed: number;
            tls_failed: number;
            blocked: number;
            reset: number;
            invalid_response: number;
            cancelled: number;
        };
        /** @description Seconds, to within 5 %; null: there was nothing to measure. */
        Quantiles: {
            p50: number | null;
            p95: number | null;
            p99: number | null;
        };
        StatsPoint: {
            /**
             * Format: date-time
             * @description When the step begins.
             * @example 2026-01-31T09:30:00.000Z
             */
            at: string;
            /** @description Of a destination always 0. */
            events_accepted: number;
            /** @description Made for events and by replays of events. */
            deliveries_scheduled: number;
            attempts: components["schemas"]["AttemptsByOutcome"];
            /** @description Deliveries that ended so in this step. */
            deliveries_succeeded: number;
            /** @description Deliveries that ended so in this step, for whatever reason. */
            deliveries_dead: number;
            first_attempt_seconds: components["schemas"]["Quantiles"];
            attempt_seconds: components["schemas"]["Quantiles"];
        };
        Stats: {
            step: components["schemas"]["StatsStep"];
            data: components["schemas"]["StatsPoint"][];
        };
        Trouble: {
            /** @example dst_01kg9qz3xefa3vqtdw5f0bz7ra */
            destination_id: string;
            name: string | null;
            state: components["schemas"]["DestinationState"];
            /** @example refuses connections since 14:02 UTC; 1,204 wait; next try in 40 s */
            summary: string;
            /** @description Its deliveries that are pending or retrying. */
            unfinished: number;
            /**
             * Format: date-time
             * @description When the oldest of them was due; null: none is.
             * @example 2026-01-31T09:30:00.000Z
             */
            oldest_due_at: string | null;
        };
        StatsNow: {
            /** @description Over the last 60 s, as the other rates. */
            events_per_second: number;
            /** @description Attempts that ended. */
            attempts_per_second: number;
            /** @description Of these attempts; null: there was none. */
            success_rate: number | null;
            /** @description Attempts on the wire. */
            in_flight: number;
            /** @description Deliveries that are `pending`. */
            pending: number;
            /** @description Deliveries that are `retrying`. */
            retrying: number;
            /** @description Of both together, those whose destination is paused or has asked for a pause by Retry-After. */
            held: number;
            /**
             * Format: date-time
             * @description When the oldest was due of those that may go out and have not; null: there is none.
             * @example 2026-01-31T09:30:00.000Z
             */
            oldest_due_at: string | null;
            /** @description Deliveries that ended `dead` in the last 24 hours. */
            dead_24h: number;
            destinations: {
                /** @description Destinations of the status `active`, those that fail included. */
                active: number;
                /** @description Destinations of the status `paused`. */
                paused: number;
                /** @description Destinations in the state `failing`. */
                failing: number;
            };
            /** @description Destinations that fail or are paused, and have deliveries that wait or died in the last hour; worst first. */
            troubles: components["schemas"]["Trouble"][];
        };
        DestinationHealth: {
            state: components["schemas"]["DestinationState"];
            /**
             * @description One plain sentence.
             * @example works; 12 wait
             */
            summary: string;
            /** @description Of the attempts in the last hour; null: there was none. */
            success_rate_1h: number | null;
            /** @description Of the attempts in the last 24 hours; null: there was none. */
            success_rate_24h: number | null;
            attempt_seconds: components["schemas"]["Quantiles"];
            /** @description Failed attempts since the last that succeeded, or since it was made active. */
            consecutive_failures: number;
            /**
             * Format: date-time
             * @description When the first of them ended; null: there is none.
             * @example 2026-01-31T09:30:00.000Z
             */
            failing_since: string | null;
            /**
             * Format: date-time
             * @description When the last attempt that succeeded ended; null: there was none in 90 days.
             * @example 2026-01-31T09:30:00.000Z
             */
            last_success_at: string | null;
            last_failure: {
                /**
                 * Format: date-time
                 * @description When the attempt ended.
                 * @example 2026-01-31T09:30:00.000Z
                 */
                at: string;
                outcome: components["schemas"]["Outcome"];
                response_code: number | null;
                error: string | null;
            } | null;
            /** @description Its deliveries that are pending or retrying. */
            unfinished: number;
            /**
             * Format: date-time
             * @description When the oldest of them was due; null: none is.
             * @example 2026-01-31T09:30:00.000Z
             */
            oldest_due_at: string | null;
            /** @description Attempts on the wire; with several nodes up to ten seconds old. */
            in_flight: number;
            /** @description How many there may be: max_in_flight, fewer while it fails. */
            in_flight_limit: number;
            /**
             * Format: date-time
             * @description Until when it asked for a pause by Retry-After; null: it did not.
             * @example 2099-12-31T23:59:59.000Z
             */
            held_until: string | null;
            /**
             * Format: date-time
             * @description When the next attempt may go out; null: none waits, or it is paused.
             * @example 2099-12-31T23:59:59.000Z
             */
            next_attempt_at: string | null;
        };
        RotationInput: {
            /**
             * @description How long the previous key goes on signing beside the new one.
             * @default 86400
             */
            overlap_seconds: number;
            /**
             * @description A key that the receiver has already: `whsec_` and base64 of 24 to 64 bytes. Absent: a new one is made.
             * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw8M1Zu3M1f0I=
             */
            signing_secret?: string | null;
        };
        RotatedSigningKey: {
            /** @example sgk_01kg9qz3xefa3vqtdw5f0bz7ra */
            id: string;
            /**
             * @description `whsec_` and the key in base64 (Standard Webhooks). Shown this once.
             * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw8M1Zu3M1f0I=
             */
            signing_secret: string;
            /**
             * Format: date-time
             * @description When it was made.
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Until when the previous key signs too.
             * @example 2099-12-31T23:59:59.000Z
             */
            previous_expires_at: string;
        };
        SigningKey: {
            /** @example sgk_01kg9qz3xefa3vqtdw5f0bz7ra */
            id: string;
            /**
             * Format: date-time
             * @description When it was made.
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Until when it signs; null: it is the newest.
             * @example 2099-12-31T23:59:59.000Z
             */
            expires_at: string | null;
        };
        SigningKeyPage: {
            data: components["schemas"]["SigningKey"][];
            /** @description Whether there are more rows. A page may be short and have more all the same. */
            has_more: boolean;
            /** @description Where a list goes on. `next_cursor` of the previous page; the filters must stay the same. */
            next_cursor: string | null;
        };
        /**
         * @description An event type, or a pattern: `P.*` (P and one more segment), `P.**` (one or more), `**` (every event; a subscription to it gets all but the service’s own, `postrider.…`).
         * @example order.*
         */
        EventTypePattern: string;
        /**
         * @description Conditions on the event’s body, all of which must hold. The guide on filters has the grammar.
         * @example {
         *       "$.currency": "EUR",
         *       "$.total": {
         *         "$gte": 100
         *       }
         *     }
         */
        Filter: {
            [key: string]: unknown;
        };
        SubscriptionInput: {
            /** @example dst_01kg9qz3xefa3vqtdw5f0bz7ra */
            destination_id: string;
            event_type: components["schemas"]["EventTypePattern"];
            filter?: components["schemas"]["Filter"] | null;
        };
        Subscription: {
            /** @example sub_01kg9qz3xefa3vqtdw5f0bz7ra */
            id: string;
            /** @example dst_01kg9qz3xefa3vqtdw5f0bz7ra */
            destination_id: string;
            event_type: components["schemas"]["EventTypePattern"];
            filter: components["schemas"]["Filter"] | null;
            /**
             * Format: date-time
             * @description When it was made.
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
        };
        SubscriptionPage: {
            data: components["schemas"]["Subscription"][];
            /** @description Whether there are more rows. A page may be short and have more all the same. */
            has_more: boolean;
            /** @description Where a list goes on. `next_cursor` of the previous page; the filters must stay the same. */
            next_cursor: string | null;
        };
        EventInput: {
            type: components["schemas"]["EventType"];
            /**
             * @description What the destinations get: kept and delivered byte for byte, at most 262,144 bytes.
             * @example {
             *       "order_id": "A-1001",
             *       "total": 129.9,
             *       "currency": "EUR"
             *     }
             */
            body: {
                [key: string]: unknown;
            };
            /**
             * @description Repeats of the same request within 24 hours get the stored event. Printable ASCII.
             * @example order-A-1001-paid
             */
            idempotency_key?: string | null;
            /**
             * @description When it happened; absent: now. RFC 3339 with any offset, or a date.
             * @example 2026-01-31T09:30:00Z
             */
            occurred_at?: string | null;
        };
        /** @enum {string} */
        DeliveryStatus: "pending" | "retrying" | "succeeded" | "dead";
        ScheduledDelivery: {
            /** @example dlv_01kg9qz3xefa3vqtdw5f0bz7ra */
            id: string;
            /** @example dst_01kg9qz3xefa3vqtdw5f0bz7ra */
            destination_id: string;
            /** @example sub_01kg9qz3xefa3vqtdw5f0bz7ra */
            subscription_id: string;
            status: components["schemas"]["DeliveryStatus"];
        };
        AcceptedEvent: {
            /** @example evt_01kg9qz3xefa3vqtdw5f0bz7ra */
            event_id: string;
            type: components["schemas"]["EventType"];
            idempotency_key: string | null;
            /**
             * Format: date-time
             * @description When it happened, as its producer says.
             * @example 2026-01-31T09:30:00.000Z
             */
            occurred_at: string;
            /**
             * Format: date-time
             * @description When it was accepted.
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            deliveries: components["schemas"]["ScheduledDelivery"][];
        };
        Event: {
            /** @example evt_01kg9qz3xefa3vqtdw5f0bz7ra */
            event_id: string;
            type: components["schemas"]["EventType"];
            idempotency_key: string | null;
            /**
             * Format: date-time
             * @description When it happened, as its producer says.
             * @example 2026-01-31T09:30:00.000Z
             */
            occurred_at: string;
            /**
             * Format: date-time
             * @description When it was accepted.
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
        };
        EventPage: {
            data: components["schemas"]["Event"][];
            /** @description Whether there are more rows. A page may be short and have more all the same. */
            has_more: boolean;
            /** @description Where a list goes on. `next_cursor` of the previous page; the filters must stay the same. */
            next_cursor: string | null;
        };
        EventWithBody: {
            /** @example evt_01kg9qz3xefa3vqtdw5f0bz7ra */
            event_id: string;
            type: components["schemas"]["EventType"];
            idempotency_key: string | null;
            /**
             * Format: date-time
             * @description When it happened, as its producer says.
             * @example 2026-01-31T09:30:00.000Z
             */
            occurred_at: string;
            /**
             * Format: date-time
             * @description When it was accepted.
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            deliveries: components["schemas"]["ScheduledDelivery"][];
            /**
             * @description What the destinations get: kept and delivered byte for byte, at most 262,144 bytes.
             * @example {
             *       "order_id": "A-1001",
             *       "total": 129.9,
             *       "currency": "EUR"
             *     }
             */
            body: {
                [key: string]: unknown;
            } | null;
        };
        ReplayInput: {
            /** @description Only to these; each must have a matching subscription. Absent: to all that match now. */
            destination_ids?: string[];
        };
        /**
         * @description Why it ended without success; null unless it is dead.
         * @enum {string}
         */
        DeadReason: "exhausted" | "gone" | "destination_deleted" | "expired" | "backlog_full";
        /** @enum {string} */
        DeliveryOrigin: "event" | "replay";
        Delivery: {
            /** @example dlv_01kg9qz3xefa3vqtdw5f0bz7ra */
            id: string;
            /** @example evt_01kg9qz3xefa3vqtdw5f0bz7ra */
            event_id: string;
            event_type: components["schemas"]["EventType"];
            /** @example dst_01kg9qz3xefa3vqtdw5f0bz7ra */
            destination_id: string;
            /** @example sub_01kg9qz3xefa3vqtdw5f0bz7ra */
            subscription_id: string;
            status: components["schemas"]["DeliveryStatus"];
            dead_reason: components["schemas"]["DeadReason"] | null;
            origin: components["schemas"]["DeliveryOrigin"];
            /** @description Attempts made, of every kind. */
            attempt_count: number;
            /** @description Attempts after the first. */
            retry_count: number;
            /** @description One for each attempt, oldest first, the newest 50; null: no response. */
            response_codes: (number | null)[];
            /**
             * Format: date-time
             * @description When the next attempt is due; null: none is, or it is held.
             * @example 2099-12-31T23:59:59.000Z
             */
            next_attempt_at: string | null;
            /**
             * Format: date-time
             * @description When it was scheduled.
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last changed.
             * @example 2026-01-31T09:30:00.000Z
             */
            updated_at: string;
            /**
             * Format: date-time
             * @description When it ended; null: it has not.
             * @example 2026-01-31T09:30:00.000Z
             */
            completed_at: string | null;
        };
        ReplayedDeliveries: {
            data: components["schemas"]["Delivery"][];
        };
        BatchInput: {
            events: components["schemas"]["EventInput"][];
        };
        BatchError: {
            code: components["schemas"]["ErrorCode"];
            /** @description What to do, for people. Do not match on it. */
            message: string;
            /** @example req_01kg9qz3xefa3vqtdw5f0bz7ra */
            request_id: string;
            /** @description The one field to blame: a JSON pointer into the body, or the name of a query parameter. */
            param?: string;
            /** @description With 503: how long to wait before this event may be sent again. */
            retry_after_seconds?: number;
        };
        BatchResult: {
            /** @description What POST /v1/events would have answered. */
            status: number;
            event?: components["schemas"]["AcceptedEvent"];
            error?: components["schemas"]["BatchError"];
        };
        BatchResults: {
            /** @description One for each event, in their order: `event` or `error`. */
            data: components["schemas"]["BatchResult"][];
        };
        /** @description Either `type` and `body`, or the `event_id` of an event that was accepted. */
        ExplainInput: {
            type?: components["schemas"]["EventType"];
            /**
             * @description What the destinations get: kept and delivered byte for byte, at most 262,144 bytes.
             * @example {
             *       "order_id": "A-1001",
             *       "total": 129.9,
             *       "currency": "EUR"
             *     }
             */
            body?: {
                [key: string]: unknown;
            };
            /** @example evt_01kg9qz3xefa3vqtdw5f0bz7ra */
            event_id?: string;
        };
        ExplainedCondition: {
            /** @example $.total */
            path: string;
            /** @example $gte */
            operator: string;
            /**
             * @description What the filter gives the operator.
             * @example 100
             */
            expected: unknown;
            /**
             * @description What the path selects in the body: a value, or with `[*]` the array of all; null: nothing. Of more than 256 characters of JSON the first, as a string that ends in `…`.
             * @example 129.9
             */
            found: unknown;
            holds: boolean;
        };
        ExplainedSubscription: {
            /** @example sub_01kg9qz3xefa3vqtdw5f0bz7ra */
            subscription_id: string;
            /** @example dst_01kg9qz3xefa3vqtdw5f0bz7ra */
            destination_id: string;
            /** @description Whether the event goes there. */
            matches: boolean;
            /** @description Whether the pattern matches; if not, it would with one segment of the event type more or less. */
            pattern_matches: boolean;
            /** @description Every condition of the filter, in its order, those within `$and`, `$or` and `$not` too. */
            filter: components["schemas"]["ExplainedCondition"][];
        };
        Explanation: {
            /** @description At most 1,000 and 2 MiB, those that match first. */
            subscriptions: components["schemas"]["ExplainedSubscription"][];
        };
        DeliveryPage: {
            data: components["schemas"]["Delivery"][];
            /** @description Whether there are more rows. A page may be short and have more all the same. */
            has_more: boolean;
            /** @description Where a list goes on. `next_cursor` of the previous page; the filters must stay the same. */
            next_cursor: string | null;
        };
        Attempt: {
            /** @description Counts from 1. */
            attempt: number;
            trigger: components["schemas"]["AttemptTrigger"];
            /**
             * Format: date-time
             * @description When the request began.
             * @example 2026-01-31T09:30:00.000Z
             */
            started_at: string;
            duration_ms: number;
            outcome: components["schemas"]["Outcome"];
            response_code: number | null;
            response_headers: {
                [key: string]: string[];
            } | null;
            /** @description What was kept of it; null: no response, or no longer kept. */
            response_body: string | null;
            response_body_encoding: components["schemas"]["BodyEncoding"] | null;
            response_body_truncated: boolean;
            error: string | null;
        };
        DeliveryWithRetries: {
            /** @example dlv_01kg9qz3xefa3vqtdw5f0bz7ra */
            id: string;
            /** @example evt_01kg9qz3xefa3vqtdw5f0bz7ra */
            event_id: string;
            event_type: components["schemas"]["EventType"];
            /** @example dst_01kg9qz3xefa3vqtdw5f0bz7ra */
            destination_id: string;
            /** @example sub_01kg9qz3xefa3vqtdw5f0bz7ra */
            subscription_id: string;
            status: components["schemas"]["DeliveryStatus"];
            dead_reason: components["schemas"]["DeadReason"] | null;
            origin: components["schemas"]["DeliveryOrigin"];
            /** @description Attempts made, of every kind. */
            attempt_count: number;
            /** @description Attempts after the first. */
            retry_count: number;
            /** @description One for each attempt, oldest first, the newest 50; null: no response. */
            response_codes: (number | null)[];
            /**
             * Format: date-time
             * @description When the next attempt is due; null: none is, or it is held.
             * @example 2099-12-31T23:59:59.000Z
             */
            next_attempt_at: string | null;
            /**
             * Format: date-time
             * @description When it was scheduled.
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last changed.
             * @example 2026-01-31T09:30:00.000Z
             */
            updated_at: string;
            /**
             * Format: date-time
             * @description When it ended; null: it has not.
             * @example 2026-01-31T09:30:00.000Z
             */
            completed_at: string | null;
            /** @description Every attempt, the first included, oldest first. */
            retries: components["schemas"]["Attempt"][];
        };
        DlqReplayInput: {
            /** @example dst_01kg9qz3xefa3vqtdw5f0bz7ra */
            destination_id?: string | null;
            /**
             * @description An event type, or a pattern: `P.*` (P and one more segment), `P.**` (one or more), `**` (every event; a subscription to it gets all but the service’s own, `postrider.…`).
             * @example order.*
             */
            event_type?: string | null;
            dead_reason?: components["schemas"]["DeadReason"] | null;
            /**
             * @description Scheduled then or later. RFC 3339 with any offset, or a date.
             * @example 2026-01-31T09:30:00Z
             */
            since?: string | null;
            /**
             * @description Scheduled before then. RFC 3339 with any offset, or a date.
             * @example 2026-01-31T09:30:00Z
             */
            until?: string | null;
            /** @description Only count what it would be about. */
            dry_run?: boolean | null;
            /** @description How many deliveries a second each destination is given. Default 100. */
            per_second?: number | null;
        };
        DryRun: {
            /** @description Deliveries that the operation would be about. */
            count: number;
            /**
             * Format: date-time
             * @description When the oldest of them was scheduled, or its event accepted; null: there are none.
             * @example 2026-01-31T09:30:00.000Z
             */
            oldest: string | null;
            /**
             * Format: date-time
             * @description The same of the newest.
             * @example 2026-01-31T09:30:00.000Z
             */
            newest: string | null;
        };
        /** @enum {string} */
        OperationKind: "dlq_replay" | "destination_recovery" | "event_replay";
        /** @enum {string} */
        OperationStatus: "running" | "paused" | "done" | "cancelled" | "failed";
        /** @description What was asked for. */
        OperationRequest: {
            /** @example dst_01kg9qz3xefa3vqtdw5f0bz7ra */
            destination_id?: string;
            event_type?: components["schemas"]["EventTypePattern"];
            dead_reason?: components["schemas"]["DeadReason"];
            destination_ids?: string[];
            missing_only?: boolean;
            /**
             * Format: date-time
             * @description Inclusive.
             * @example 2026-01-31T09:30:00.000Z
             */
            since?: string;
            /**
             * Format: date-time
             * @description Exclusive.
             * @example 2026-01-31T09:30:00.000Z
             */
            until?: string;
            /** @description How many deliveries a second each destination is given. Default 100. */
            per_second: number;
        };
        Operation: {
            /** @example op_01kg9qz3xefa3vqtdw5f0bz7ra */
            id: string;
            kind: components["schemas"]["OperationKind"];
            status: components["schemas"]["OperationStatus"];
            request: components["schemas"]["OperationRequest"];
            /** @description Deliveries that it is about. Where there are very many it grows until all are counted. */
            total: number;
            /** @description Sent again, or made. What becomes of them their own status says. */
            done: number;
            /** @description Could not be made: the destination’s backlog is full, or the event makes too many (counted as one). */
            failed: number;
            /** @description Nothing to do, or no way to: no longer dead or waiting, body erased, destination deleted. */
            skipped: number;
            /**
             * Format: date-time
             * @description When it was asked for. It works on what was there then.
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last came further, or was changed.
             * @example 2026-01-31T09:30:00.000Z
             */
            updated_at: string;
            /**
             * Format: date-time
             * @description When it ended; null: it has not.
             * @example 2026-01-31T09:30:00.000Z
             */
            finished_at: string | null;
            /** @example key_01kg9qz3xefa3vqtdw5f0bz7ra */
            created_by: string;
        };
        RecoverInput: {
            /**
             * @description Scheduled then or later. RFC 3339 with any offset, or a date.
             * @example 2026-01-31T09:30:00Z
             */
            since: string;
            /**
             * @description Scheduled before then. RFC 3339 with any offset, or a date.
             * @example 2026-01-31T09:30:00Z
             */
            until?: string | null;
            /** @description Only count what it would be about. */
            dry_run?: boolean | null;
            /** @description How many deliveries a second each destination is given. Default 100. */
            per_second?: number | null;
        };
        EventsReplayInput: {
            /**
             * @description An event type, or a pattern: `P.*` (P and one more segment), `P.**` (one or more), `**` (every event; a subscription to it gets all but the service’s own, `postrider.…`).
             * @example order.*
             */
            event_type?: string | null;
            /**
             * @description Accepted then or later. RFC 3339 with any offset, or a date.
             * @example 2026-01-31T09:30:00Z
             */
            since: string;
            /**
             * @description Accepted before then. RFC 3339 with any offset, or a date.
             * @example 2026-01-31T09:30:00Z
             */
            until?: string | null;
            /** @description Only to these; absent: to all that match now. */
            destination_ids?: string[];
            /** @description Only where that destination never answered the event with 2xx. */
            missing_only?: boolean | null;
            /** @description Only count what it would be about. */
            dry_run?: boolean | null;
            /** @description How many deliveries a second each destination is given. Default 100. */
            per_second?: number | null;
        };
        OperationPage: {
            data: components["schemas"]["Operation"][];
            /** @description Whether there are more rows. A page may be short and have more all the same. */
            has_more: boolean;
            /** @description Where a list goes on. `next_cursor` of the previous page; the filters must stay the same. */
            next_cursor: string | null;
        };
        /** @enum {string} */
        Mode: "live" | "test";
        /** @enum {string} */
        Scope: "publish" | "read" | "manage" | "operate" | "admin";
        ApiKey: {
            /** @example key_01kg9qz3xefa3vqtdw5f0bz7ra */
            id: string;
            name: string | null;
            mode: components["schemas"]["Mode"];
            /** @example pr_test_ */
            prefix: string;
            /**
             * @description The last four characters of the key.
             * @example x7Qa
             */
            last4: string;
            scopes: components["schemas"]["Scope"][];
            /**
             * Format: date-time
             * @description When it was made.
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it ends to be valid; null: never.
             * @example 2099-12-31T23:59:59.000Z
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description When it was last used, to the minute; null: not yet.
             * @example 2026-01-31T09:30:00.000Z
             */
            last_used_at: string | null;
        };
        ApiKeyPage: {
            data: components["schemas"]["ApiKey"][];
            /** @description Whether there are more rows. A page may be short and have more all the same. */
            has_more: boolean;
            /** @description Where a list goes on. `next_cursor` of the previous page; the filters must stay the same. */
            next_cursor: string | null;
        };
        ApiKeyInput: {
            /** @example Orders of ACME */
            name?: string | null;
            mode?: components["schemas"]["Mode"] | null;
            /** @description Absent: all but `admin`. */
            scopes?: components["schemas"]["Scope"][] | null;
            /**
             * @description When it ends to be valid; absent: never. RFC 3339 with any offset, or a date.
             * @example 2099-12-31T23:59:59.000Z
             */
            expires_at?: string | null;
        };
        CreatedApiKey: {
            /** @example key_01kg9qz3xefa3vqtdw5f0bz7ra */
            id: string;
            name: string | null;
            mode: components["schemas"]["Mode"];
            /** @example pr_test_ */
            prefix: string;
            /**
             * @description The last four characters of the key.
             * @example x7Qa
             */
            last4: string;
            scopes: components["schemas"]["Scope"][];
            /**
             * Format: date-time
             * @description When it was made.
             * @example 2026-01-31T09:30:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it ends to be valid; null: never.
             * @example 2099-12-31T23:59:59.000Z
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description When it was last used, to the minute; null: not yet.
             * @example 2026-01-31T09:30:00.000Z
             */
            last_used_at: string | null;
            /** @description The key. Shown this once. */
            secret: string;
        };
        Node: {
            /** @example nod_01kg9qz3xefa3vqtdw5f0bz7ra */
            id: string;
            /** @description The setting `NODE_NAME`, by default the name of its machine. */
            name: string;
            /** @example 0.1.0 */
            version: string;
            /**
             * @description Where it listens.
             * @example 10.0.0.5:8383
             */
            address: string;
            /**
             * Format: date-time
             * @description When it joined.
             * @example 2026-01-31T09:30:00.000Z
             */
            started_at: string;
            /**
             * Format: date-time
             * @description When it last proved that it lives.
             * @example 2026-01-31T09:30:00.000Z
             */
            last_heartbeat_at: string;
            /** @description How many of the 256 shards it sends for. */
            shards_owned: number;
            /** @description It is being stopped, and hands over its shards. */
            is_leaving: boolean;
        };
        Cluster: {
            data: components["schemas"]["Node"][];
            /** @description Shards that nobody sends for just now. */
            shards_free: number;
            /** @description Deliveries that are pending or retrying. With several nodes it may be a minute old. */
            backlog: number;
        };
        SignInInput: {
            /** @description An API key. */
            key: string;
        };
        SessionKey: {
            /** @example key_01kg9qz3xefa3vqtdw5f0bz7ra */
            id: string;
            name: string | null;
            scopes: components["schemas"]["Scope"][];
        };
        Session: {
            mode: components["schemas"]["Mode"];
            key: components["schemas"]["SessionKey"];
            /**
             * Format: date-time
             * @description 8 hours after it began, or when its key ends to be valid.
             * @example 2099-12-31T23:59:59.000Z
             */
            expires_at: string;
        };
        SessionList: {
            /** @description At most one of each mode. */
            sessions: components["schemas"]["Session"][];
        };
        DestinationPausedBody: {
            /** @example dst_01kg9qz3xefa3vqtdw5f0bz7ra */
            destination_id: string;
            /** @description Its `name`. */
            destination_name: string | null;
            reason: components["schemas"]["PausedReason"];
            /**
             * Format: date-time
             * @description When it was paused.
             * @example 2026-01-31T09:30:00.000Z
             */
            paused_at: string;
        };
        DestinationRecoveredBody: {
            /** @example dst_01kg9qz3xefa3vqtdw5f0bz7ra */
            destination_id: string;
            /** @description Its `name`. */
            destination_name: string | null;
            /** @enum {string} */
            after: "paused" | "failing";
            /**
             * Format: date-time
             * @description Its first failed attempt since the success before; null: it was paused since.
             * @example 2026-01-31T09:30:00.000Z
             */
            failing_since: string | null;
            /** @description Failed attempts since then. */
            failed_attempts: number;
        };
        DeliveryDeadBody: {
            /** @example dst_01kg9qz3xefa3vqtdw5f0bz7ra */
            destination_id: string;
            /** @description Its `name`. */
            destination_name: string | null;
            /** @example dlv_01kg9qz3xefa3vqtdw5f0bz7ra */
            delivery_id: string;
            /** @example evt_01kg9qz3xefa3vqtdw5f0bz7ra */
            event_id: string;
            event_type: components["schemas"]["EventType"];
            dead_reason: components["schemas"]["DeadReason"];
            /** @description How many deliveries of the destination have died since the last of these events, this included. */
            count: number;
        };
        BacklogGrowingBody: {
            /** @example dst_01kg9qz3xefa3vqtdw5f0bz7ra */
            destination_id: string;
            /** @description Its `name`. */
            destination_name: string | null;
            /** @description Deliveries that are pending or retrying. */
            unfinished: number;
            /** @description How many more than when it began to grow. */
            grown_by: number;
            /** @description How long ago that was. */
            within_seconds: number;
        };
        WebhookPayload: {
            /**
             * @description The event’s id.
             * @example evt_01kg9qz3xefa3vqtdw5f0bz7ra
             */
            id: string;
            type: components["schemas"]["EventType"];
            /**
             * Format: date-time
             * @description When it happened, as its producer says: `occurred_at`.
             * @example 2026-01-31T09:30:00.000Z
             */
            timestamp: string;
            /**
             * @description The event’s `body`, byte for byte as it was posted.
             * @example {
             *       "order_id": "A-1001",
             *       "total": 129.9,
             *       "currency": "EUR"
             *     }
             */
            data: {
                [key: string]: unknown;
            };
        };
    };
    responses: {
        /** @description `invalid_request`: The request is not well-formed JSON, or a field is missing, unknown, of the wrong type or out of range. `invalid_url`: The URL cannot be a destination: wrong scheme, credentials, fragment, or a host or port that is refused. */
        InvalidRequestOrInvalidUrl: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `unauthorized`: There is no API key in the request, or it is malformed, unknown, expired or revoked. */
        Unauthorized: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                "WWW-Authenticate": components["headers"]["WwwAuthenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `forbidden`: The API key lacks the scope that this endpoint needs; the message names it. Or a page that is not the dashboard’s asks with its session. */
        Forbidden: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `body_too_large`: The request, or the body of the event, is longer than allowed. */
        BodyTooLarge: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `unsupported_media_type`: The request is not `application/json` in UTF-8 without a content encoding. */
        UnsupportedMediaType: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `url_not_reachable`: No connection to the URL could be made. `over_destination_limit`: The environment has as many destinations as it may have. */
        UrlNotReachableOrOverDestinationLimit: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `rate_limited`: Too many of these requests at once or in a short time. */
        RateLimited: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `internal_error`: A fault of the service; it is in its log under the request id. */
        InternalError: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `unavailable`: The service cannot store anything just now, or has too much to do. Nothing was accepted, unless the database went away in the moment of storing it. */
        Unavailable: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `method_not_allowed`: This path with a method that is not described here. */
        MethodNotAllowed: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                Allow: components["headers"]["Allow"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_request`: The headers took longer than 10 s, or the whole request longer than 30 s. The connection is closed. */
        RequestTimeout: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_request`: The URL and the headers are longer than 16 KiB, or there are more than 1,000 headers. The connection is closed. */
        HeadersTooLarge: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_request`: The request is not well-formed JSON, or a field is missing, unknown, of the wrong type or out of range. `invalid_cursor`: The cursor was not made by this list with these filters in this environment. */
        InvalidRequestOrInvalidCursor: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_request`: The request is not well-formed JSON, or a field is missing, unknown, of the wrong type or out of range. */
        InvalidRequest: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `destination_not_found`: There is no such destination in this environment, or it was deleted. */
        DestinationNotFound: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_request`: The request is not well-formed JSON, or a field is missing, unknown, of the wrong type or out of range. `invalid_event_type`: The event type is not 2-10 segments of letters, digits, `_` and `-` joined by dots, or it is one of the service’s own: those begin with `postrider.`. */
        InvalidRequestOrInvalidEventType: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `rotation_in_progress`: The previous rotation of this destination’s signing key is still in its overlap. */
        RotationInProgress: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `destination_not_found`: There is no such destination in this environment, or it was deleted. `not_found`: There is nothing at this path. */
        DestinationNotFoundOrNotFound: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_request`: The request is not well-formed JSON, or a field is missing, unknown, of the wrong type or out of range. `invalid_event_type_pattern`: The pattern is neither an event type nor `<prefix>.*`, `<prefix>.**` or `**`. `invalid_filter`: The filter is not valid; `param` points at the fault inside it. */
        InvalidRequestOrInvalidEventTypePatternOrInvalidFilter: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `over_subscription_limit`: The destination or the environment has as many subscriptions as it may have. */
        OverSubscriptionLimit: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `subscription_not_found`: There is no such subscription in this environment. */
        SubscriptionNotFound: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `idempotency_key_conflict`: The idempotency key was used within 24 hours for a different event. */
        IdempotencyKeyConflict: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `over_fanout_limit`: The event, or its replay, would make more deliveries than one may. Nothing was stored. */
        OverFanoutLimit: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_request`: The request is not well-formed JSON, or a field is missing, unknown, of the wrong type or out of range. `invalid_event_type_pattern`: The pattern is neither an event type nor `<prefix>.*`, `<prefix>.**` or `**`. `invalid_cursor`: The cursor was not made by this list with these filters in this environment. */
        InvalidRequestOrInvalidEventTypePatternOrInvalidCursor: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `event_not_found`: There is no such event in this environment, or it was pruned. */
        EventNotFound: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `event_too_old`: The body of the event has been erased; it cannot be replayed. */
        EventTooOld: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `destination_not_subscribed`: A destination named for the replay has no subscription that matches the event. `over_fanout_limit`: The event, or its replay, would make more deliveries than one may. Nothing was stored. */
        DestinationNotSubscribedOrOverFanoutLimit: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `delivery_not_found`: There is no such delivery in this environment (or, in the DLQ, it is not dead), or it was pruned. */
        DeliveryNotFound: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `destination_not_found`: There is no such destination in this environment, or it was deleted. `delivery_not_found`: There is no such delivery in this environment (or, in the DLQ, it is not dead), or it was pruned. */
        DestinationNotFoundOrDeliveryNotFound: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `delivery_too_old`: The body of the delivery’s event has been erased; it cannot be sent again. */
        DeliveryTooOld: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `invalid_request`: The request is not well-formed JSON, or a field is missing, unknown, of the wrong type or out of range. `invalid_event_type_pattern`: The pattern is neither an event type nor `<prefix>.*`, `<prefix>.**` or `**`. */
        InvalidRequestOrInvalidEventTypePattern: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `operation_in_progress`: The same was asked for before, and that operation is running or paused: `operation_id` names it. */
        OperationInProgress: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `over_operation_limit`: The environment has as many operations that have not ended as it may have. */
        OverOperationLimit: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `destination_not_subscribed`: A destination named for the replay has no subscription that matches the event. `over_operation_limit`: The environment has as many operations that have not ended as it may have. */
        DestinationNotSubscribedOrOverOperationLimit: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `not_found`: There is nothing at this path. */
        NotFound: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description `operation_ended`: The operation has ended: it can no longer be cancelled, paused or resumed. */
        OperationEnded: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description The id of the request, for support and logs. */
        RequestId: string;
        /** @description How to say who is calling. */
        WwwAuthenticate: "Bearer";
        /** @description Seconds to wait. */
        RetryAfter: number;
        /** @description The methods that the path takes, out of GET, HEAD, POST, PATCH, DELETE. */
        Allow: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listDestinations: {
        parameters: {
            query?: {
                status?: components["schemas"]["DestinationStatus"];
                state?: components["schemas"]["DestinationState"];
                cursor?: components["schemas"]["Cursor"];
                /** @description How many to return at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DestinationPage"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidCursor"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createDestination: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DestinationInput"];
            };
        };
        responses: {
            /** @description It was made. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    /** @description The path of the resource. */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedDestination"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidUrl"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["UrlNotReachableOrOverDestinationLimit"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    readDestination: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Destination"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["DestinationNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteDestination: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone. */
            204: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["DestinationNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    updateDestination: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["DestinationPatch"];
            };
        };
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Destination"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidUrl"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["DestinationNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    testDestination: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TestInput"];
            };
        };
        responses: {
            /** @description It was made, whatever came of it: `outcome` says. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestAttempt"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidEventType"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["DestinationNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    readStats: {
        parameters: {
            query?: {
                /** @description From the step that has this time on. Default: an hour, 12 hours, 7 or 30 days back. RFC 3339 with any offset, or a date. */
                since?: string;
                /** @description Up to this time. Default: now. RFC 3339 with any offset, or a date. */
                until?: string;
                step?: components["schemas"]["StatsStep"];
                destination_id?: string;
                /** @description Exactly this type; `other`: all that are not among the 200 busiest. Not with destination_id. */
                event_type?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Stats"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidEventType"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    readStatsNow: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StatsNow"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    readDestinationHealth: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DestinationHealth"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["DestinationNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    rotateSigningKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotationInput"];
            };
        };
        responses: {
            /** @description It was made. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RotatedSigningKey"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["DestinationNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["RotationInProgress"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listSigningKeys: {
        parameters: {
            query?: {
                cursor?: components["schemas"]["Cursor"];
                /** @description How many to return at most. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SigningKeyPage"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidCursor"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["DestinationNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    endSigningKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                key_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone. */
            204: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["DestinationNotFoundOrNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listSubscriptions: {
        parameters: {
            query?: {
                destination_id?: string;
                cursor?: components["schemas"]["Cursor"];
                /** @description How many to return at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubscriptionPage"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidCursor"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createSubscription: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SubscriptionInput"];
            };
        };
        responses: {
            /** @description It was there already. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    /** @description The path of the resource. */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
            /** @description It was made. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    /** @description The path of the resource. */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidEventTypePatternOrInvalidFilter"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["DestinationNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["OverSubscriptionLimit"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    readSubscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["SubscriptionNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    deleteSubscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone. */
            204: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["SubscriptionNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listEvents: {
        parameters: {
            query?: {
                type?: components["schemas"]["EventTypePattern"];
                /** @description Accepted then or later. RFC 3339 with any offset, or a date. */
                since?: string;
                /** @description Accepted before then. RFC 3339 with any offset, or a date. */
                until?: string;
                cursor?: components["schemas"]["Cursor"];
                /** @description How many to return at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidEventTypePatternOrInvalidCursor"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createEvent: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same as `idempotency_key`, for those who are used to it. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EventInput"];
            };
        };
        responses: {
            /** @description It had been accepted before: the stored event. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    /** @description That nothing new was stored. */
                    "Idempotent-Replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedEvent"];
                };
            };
            /** @description It was accepted. */
            202: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedEvent"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidEventType"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyKeyConflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["OverFanoutLimit"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    readEvent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventWithBody"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["EventNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    replayEvent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReplayInput"];
            };
        };
        responses: {
            /** @description It was accepted. */
            202: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplayedDeliveries"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["EventNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            410: components["responses"]["EventTooOld"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["DestinationNotSubscribedOrOverFanoutLimit"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createEvents: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BatchInput"];
            };
        };
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchResults"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    explainEvent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ExplainInput"];
            };
        };
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidEventType"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["EventNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            410: components["responses"]["EventTooOld"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                event_id?: string;
                destination_id?: string;
                /** @description Scheduled then or later. RFC 3339 with any offset, or a date. */
                since?: string;
                /** @description Scheduled before then. RFC 3339 with any offset, or a date. */
                until?: string;
                status?: components["schemas"]["DeliveryStatus"];
                cursor?: components["schemas"]["Cursor"];
                /** @description How many to return at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryPage"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidCursor"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    readDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryWithRetries"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["DeliveryNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    retryDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was accepted. */
            202: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delivery"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["DestinationNotFoundOrDeliveryNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            410: components["responses"]["DeliveryTooOld"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listDeadDeliveries: {
        parameters: {
            query?: {
                event_id?: string;
                destination_id?: string;
                /** @description Scheduled then or later. RFC 3339 with any offset, or a date. */
                since?: string;
                /** @description Scheduled before then. RFC 3339 with any offset, or a date. */
                until?: string;
                /** @description Does not filter: every row is `dead`. With any other status the page is empty. */
                status?: "pending" | "retrying" | "succeeded" | "dead";
                cursor?: components["schemas"]["Cursor"];
                /** @description How many to return at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryPage"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidCursor"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    replayDeadDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                delivery_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It was accepted. */
            202: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Delivery"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["DestinationNotFoundOrDeliveryNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            410: components["responses"]["DeliveryTooOld"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    stream: {
        parameters: {
            query?: {
                /** @description Only these kinds of messages, separated by commas; absent: all. */
                kinds?: string;
                destination_id?: string;
                event_type?: components["schemas"]["EventTypePattern"];
                /** @description Of a `delivery`, after an `attempt`, or of a `destination`. What has none is left out. */
                status?: "pending" | "retrying" | "succeeded" | "dead" | "active" | "paused";
                /** @description Whether `event` messages have the event’s `body`. Default false. */
                bodies?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidEventTypePattern"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    replayDeadDeliveries: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["DlqReplayInput"];
            };
        };
        responses: {
            /** @description A dry run: nothing has changed. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DryRun"];
                };
            };
            /** @description The operation has begun. */
            202: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    /** @description The path of the resource. */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidEventTypePattern"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["DestinationNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["OperationInProgress"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["OverOperationLimit"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    recoverDestination: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecoverInput"];
            };
        };
        responses: {
            /** @description A dry run: nothing has changed. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DryRun"];
                };
            };
            /** @description The operation has begun. */
            202: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    /** @description The path of the resource. */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["DestinationNotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["OperationInProgress"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["OverOperationLimit"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    replayEvents: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EventsReplayInput"];
            };
        };
        responses: {
            /** @description A dry run: nothing has changed. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DryRun"];
                };
            };
            /** @description The operation has begun. */
            202: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    /** @description The path of the resource. */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidEventTypePattern"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["OperationInProgress"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["DestinationNotSubscribedOrOverOperationLimit"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listOperations: {
        parameters: {
            query?: {
                cursor?: components["schemas"]["Cursor"];
                /** @description How many to return at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperationPage"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidCursor"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    readOperation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelOperation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["OperationEnded"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    pauseOperation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["OperationEnded"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    resumeOperation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Operation"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["OperationEnded"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listApiKeys: {
        parameters: {
            query?: {
                cursor?: components["schemas"]["Cursor"];
                /** @description How many to return at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKeyPage"];
                };
            };
            400: components["responses"]["InvalidRequestOrInvalidCursor"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ApiKeyInput"];
            };
        };
        responses: {
            /** @description It was made. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    /** @description The path of the resource. */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedApiKey"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    revokeApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone. */
            204: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    readCluster: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Cluster"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    checkHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ok";
                    };
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    checkReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ready";
                    };
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    readMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            401: components["responses"]["Unauthorized"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    readOpenapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionList"];
                };
            };
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    signIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignInInput"];
            };
        };
        responses: {
            /** @description The request was carried out. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    /** @description The session. */
                    "Set-Cookie"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    signOut: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                mode: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone. */
            204: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    /** @description Forgets the session. */
                    "Set-Cookie"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            405: components["responses"]["MethodNotAllowed"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    receiveEvent: {
        parameters: {
            query?: never;
            header: {
                /** @description The event’s id: the same on every retry and every replay. Drop what you have seen. */
                "webhook-id": string;
                /** @description When this attempt was made, in seconds since 1970. Refuse what is older than a few minutes. */
                "webhook-timestamp": string;
                /** @description `v1,` and the HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>` in base64; more than one, separated by spaces, while signing keys overlap. One that fits is enough. */
                "webhook-signature": string;
                /** @description The delivery that this is an attempt of. */
                "postrider-delivery-id": string;
                /** @description Which attempt of the delivery this is, from 1. */
                "postrider-attempt": string;
                /** @description `Postrider/` and its version. */
                "user-agent": string;
                /** @description There only with `POST /v1/destinations/{id}/test`: the event is in no list. Check the signature, answer. */
                "postrider-test"?: "true";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookPayload"];
            };
        };
        responses: {
            /** @description Never again: the delivery is dead at once, and the destination paused. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not so fast: nothing goes to this destination until `Retry-After`. */
            429: {
                headers: {
                    /** @description Seconds, or an HTTP date; of at most 24 hours. */
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not now: this delivery waits until `Retry-After` at least. */
            503: {
                headers: {
                    /** @description Seconds, or an HTTP date; of at most 24 hours. */
                    "Retry-After"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Delivered. The body is kept up to 1 KiB and means nothing. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Failed: tried again by the retry policy until that is spent, then dead. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    receiveDestinationPaused: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The event’s id.
                     * @example evt_01kg9qz3xefa3vqtdw5f0bz7ra
                     */
                    id: string;
                    /** @constant */
                    type: "postrider.destination.paused";
                    /**
                     * Format: date-time
                     * @description When it happened, as its producer says: `occurred_at`.
                     * @example 2026-01-31T09:30:00.000Z
                     */
                    timestamp: string;
                    data: components["schemas"]["DestinationPausedBody"];
                };
            };
        };
        responses: {
            /** @description Delivered. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description As for any event. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    receiveDestinationRecovered: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The event’s id.
                     * @example evt_01kg9qz3xefa3vqtdw5f0bz7ra
                     */
                    id: string;
                    /** @constant */
                    type: "postrider.destination.recovered";
                    /**
                     * Format: date-time
                     * @description When it happened, as its producer says: `occurred_at`.
                     * @example 2026-01-31T09:30:00.000Z
                     */
                    timestamp: string;
                    data: components["schemas"]["DestinationRecoveredBody"];
                };
            };
        };
        responses: {
            /** @description Delivered. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description As for any event. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    receiveDeliveryDead: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The event’s id.
                     * @example evt_01kg9qz3xefa3vqtdw5f0bz7ra
                     */
                    id: string;
                    /** @constant */
                    type: "postrider.delivery.dead";
                    /**
                     * Format: date-time
                     * @description When it happened, as its producer says: `occurred_at`.
                     * @example 2026-01-31T09:30:00.000Z
                     */
                    timestamp: string;
                    data: components["schemas"]["DeliveryDeadBody"];
                };
            };
        };
        responses: {
            /** @description Delivered. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description As for any event. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    receiveBacklogGrowing: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description The event’s id.
                     * @example evt_01kg9qz3xefa3vqtdw5f0bz7ra
                     */
                    id: string;
                    /** @constant */
                    type: "postrider.backlog.growing";
                    /**
                     * Format: date-time
                     * @description When it happened, as its producer says: `occurred_at`.
                     * @example 2026-01-31T09:30:00.000Z
                     */
                    timestamp: string;
                    data: components["schemas"]["BacklogGrowingBody"];
                };
            };
        };
        responses: {
            /** @description Delivered. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description As for any event. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
