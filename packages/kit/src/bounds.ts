/** Bounds that several workspaces share. Those of one workspace are in its own `src/bounds.ts`. */

/** Units of time in milliseconds. */
export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** A call to another service that reads a little: `service_timeout` after it. */
export const lookupDeadlineMs = 2_000;
/** A call to another service that changes or computes something. */
export const workDeadlineMs = 10_000;
/** Background work is tried again so long after a failure. */
export const retryMs = 10_000;
/** Between two searches for rows that are no longer needed. */
export const cleanUpMs = 10 * minuteMs;
/** Rows that one statement of a clean-up deletes; more follow at once. */
export const cleanUpRows = 500;
