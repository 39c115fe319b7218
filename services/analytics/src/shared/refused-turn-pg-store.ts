/** One transaction at a time changes counts of refused requests. Each is short. */
export const turnOfRefusals = `select pg_advisory_xact_lock(hashtext('analytics.refusals'))`;
