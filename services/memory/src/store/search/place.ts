/** A passage by its scope and its number there. */
export interface PassagePosition {
  scopeId: string;
  number: number;
}

/** The place where a walk over all passages begins: before the first one. */
export const firstPlace: PassagePosition = { scopeId: '0', number: -1 };
