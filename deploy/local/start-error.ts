/** Why the system can not start, as one sentence for the person who typed `make up`: shown without a stack. */
export class StartError extends Error {}
