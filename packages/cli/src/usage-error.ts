/** A command impossible to carry out as given: exit code 2. */
export class UsageError extends Error {}
