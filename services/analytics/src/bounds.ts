/** The bounds of the service, with what happens at each. */

/** Refused requests of a tenant that are kept one by one in an hour, for lists. Further ones are only counted. */
export const keptRefusalsOfHour = 1_000;
/** Groups of the refused requests of a tenant in a quarter of an hour. Beyond them requests are counted by code alone. */
export const maxRefusedRows = 2_000;
/** Counts of refused requests that arrive later are dead-lettered. */
export const lateRefusalDays = 2;
