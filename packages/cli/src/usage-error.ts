/** A command that can't be carried out as it was given: exit code 2. */
export class UsageError extends Error {}
