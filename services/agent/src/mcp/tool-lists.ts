/** The head of a list of a server. */
export interface ListHead {
  /** Another one after each change of the list and of what decides which of its tools may be used. */
  revision: string;
  isStale: boolean;
}

/** Lists as JSON texts. */
export interface ListTexts {
  revision: string;
  tools: string | null;
  accepted: string;
}

const ttlS = { usual: 300, least: 10, most: 3_600 };

/** How long a list of tools is good, in seconds, by what its server says. */
export function goodSecondsOf(ttlMs: number | null): number {
  return ttlMs === null ? ttlS.usual : Math.min(Math.max(ttlMs / 1_000, ttlS.least), ttlS.most);
}
