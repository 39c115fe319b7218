/** The reason why the system cannot start, in one sentence for the operator; printed without a stack. */
export class StartError extends Error {}
