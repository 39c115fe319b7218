const nothing = (): Promise<void> => Promise.resolve();

/** For stores whose thresholds a test does not look at. */
export const noRecords = { recordChange: nothing, raise: nothing };
