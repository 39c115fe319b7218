/** The bounds of sandboxes, with what happens at each. */

/** Longer texts of failures are cut. */
export const maxErrorChars = 2_048;
/** A process on a busy machine may take this many times as long as it works; then it is killed. */
export const patience = 10;
/** Deadlines and memory are checked so often. */
export const checkMs = 50;
/** A process taking longer to load its code is killed, on a busy machine too. */
export const defaultStartMs = 20_000;
/** Beyond this part of the memory, processes are killed. The service's heap may have 60 % (deploy/Dockerfile). */
export const memoryFraction = 0.2;
/** One process at its limit of heap can always work. */
export const leastBytes = 192 * 2 ** 20;
