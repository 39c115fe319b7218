/** The bounds of the service, with what happens at each. */

/** Refused requests of a tenant that are kept one by one in an hour, for lists. Further ones are only counted. */
export const keptRefusalsOfHour = 1_000;
/** Groups of the refused requests of a tenant in a quarter of an hour. Beyond them requests are counted by code alone. */
export const maxRefusedRows = 500;
/** Counts of refused requests arriving later are dead-lettered: then they are added up by day. */
export const lateRefusalDays = 2;
/** The rows of one transaction of a deletion or of sums by day. */
export const refusedBatch = 2_000;
/** Requests read for one page of a list of refused requests; the page may be short, and the next one goes on. */
export const maxRefusedRead = 10_000;
/** Runs of a tenant read for a preview, and the groups sent; it says when there are more. */
export const groupBounds = { maxRuns: 100_000, maxGroups: 5_000 };
/** The longest time of runs in groups. */
export const maxGroupedDays = 31;
