/** The bounds of the edge, with what happens at each. */

/** Headers that tenants name for signatures: further and longer ones are not passed on. */
export const maxCustomHeaders = 64;
export const maxCustomHeaderChars = 1_024;

/** Larger bodies are not gathered: they would be in the memory of the edge, too. */
export const gatheredBytes = 4 * 1024 * 1024;
/** Bodies up to this size are gathered: one write costs less than a stream. */
export const smallBodyBytes = 64 * 1024;
/** A body sent to a route without a body is passed on, up to this size. */
export const leastBodyLimit = 1024 * 1024;
/** No route but completions takes longer than this: webhooks answer after a minute at the latest, once they are verified. */
export const defaultSilenceMs = 70_000;
/** Names behind `dns:///` are resolved so often. */
export const refreshMs = 2_000;
/** An address is skipped for so long after refusing a connection, unless all of them did. */
export const restMs = 1_000;
/** The address of a stopping replica is skipped for so long. Longer than `Liveness` takes to check it again. */
export const stopRestMs = 3_000;
/** One slow answer may be a busy core or a long garbage collection; two in a row mean a hanging replica. */
export const silencesToRest = 2;
/** A live replica accepts a connection within a millisecond; TCP resends one lost packet after a second. */
export const connectTimeoutMs = 1_500;

/**
 * Idle connections are closed after this time. A replica keeps them longer while it serves: if it were first, it could
 * close one just as the next request is written to it. A stopping one announces it, and gets no more requests.
 */
export const idleMs = 4_000;
