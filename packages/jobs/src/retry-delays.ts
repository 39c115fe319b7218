const dayS = 24 * 3600;
const days = 30;
const firstS = [1, 2, 5, 15, 60, 120];
const laterS = 300;

/**
 * `retryAfterS` for work to be done however long another service is down: soon at first, then every five minutes, for
 * as long as jobs are kept.
 */
export const whileOthersAreDown: readonly number[] = [
  ...firstS,
  ...Array<number>((days * dayS) / laterS).fill(laterS),
];

const urgentS = 15;

/** The same for work somebody waits for: every 15 seconds. */
export const whileAwaited: readonly number[] = [
  ...firstS.filter((seconds) => seconds < urgentS),
  ...Array<number>((days * dayS) / urgentS).fill(urgentS),
];
