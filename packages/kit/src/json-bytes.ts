/** `indexOf` takes as long as so many bytes one by one. */
export const shortBytes = 16;

/** Bytes of JSON's punctuation, for readers that look at a text without parsing it. */
export const quote = 0x22;
export const backslash = 0x5c;
export const comma = 0x2c;
export const colon = 0x3a;
export const openBracket = 0x5b;
export const openBrace = 0x7b;
export const closeBracket = 0x5d;
export const closeBrace = 0x7d;
