/** Bounds of the command line. */

/** Attempts of a request with a harmless repeat; the last error is shown. */
export const attempts = 4;
/** The pause before the second attempt, doubled before each further one. */
export const firstPauseMs = 300;
/** A longer pause requested by the gateway fails the command. */
export const longestPauseMs = 10_000;
/** A longer renewal of a key fails, while another command waits for the profile. */
export const longestRenewalMs = 20_000;
/** The file of profiles: between two attempts to lock it, until a command gives up, until a lock is stale. */
export const profileLock = { pauseMs: 50, longestMs: 25_000, staleMs: 30_000 };
/** Columns of a table, and characters of a cell: others are left to `get` and `--json`. */
export const mostColumns = 7;
export const longestCell = 48;
