/** Bounds shared by several workspaces. Those of one workspace are in its own `src/bounds.ts`. */

/** Units of time in milliseconds. */
export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** A call to another service to read a little: `service_timeout` after it. */
export const lookupDeadlineMs = 2_000;
/** A call to another service to change or compute something. */
export const workDeadlineMs = 10_000;
/** Background work is tried again so long after a failure. */
export const retryMs = 10_000;
/** Between two searches for unneeded rows. */
export const cleanUpMs = 10 * minuteMs;
/** Rows deleted by one statement of a clean-up; more follow at once. */
export const cleanUpRows = 500;
