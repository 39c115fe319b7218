import { countrySpecs, isValidIBAN } from 'ibantools';
import { hits, type Shape, type Verdict } from './shape.ts';
import { endsToken, matchIf, startsToken } from './tokens.ts';

/** Lengths of IBANs by country, of the countries in the registry of ISO 13616. */
const lengths = new Map(
  Object.entries(countrySpecs).flatMap(([country, { chars, IBANRegistry }]) =>
    IBANRegistry === true && typeof chars === 'number' ? [[country, chars] as const] : [],
  ),
);

const firstLetters = new Set([...lengths.keys()].map((country) => country.charAt(0)));

const alphanumeric = /[A-Za-z0-9]/;

/** IBANs by country, length and checksum, with the characters together or in groups. */
export const iban: Shape = {
  type: 'iban',
  next: hits(/[A-Za-z](?:[A-Za-z](?:\d(?:\d|$)|$)|$)/g),

  at(text: string, start: number, ended: boolean): Verdict {
    if (!startsToken(text, start) || !isCountry(text.slice(start, start + 2))) return null;
    const length = lengths.get(text.slice(start, start + 2).toUpperCase()) ?? 4;
    let value = '';
    let end = start;
    while (value.length < length && end < text.length) {
      const character = text.charAt(end);
      if (alphanumeric.test(character)) value += character;
      else if ((character !== ' ' && character !== '-') || !alphanumeric.test(text.charAt(end - 1)))
        return null;
      end += 1;
    }
    if (value.length < length) return ended ? null : 'undecided';
    return isValidIBAN(value.toUpperCase()) ? matchIf(endsToken(text, end, ended), start, end) : null;
  },
};

/** Whether a text is a country of the registry, or its first letter. */
function isCountry(letters: string): boolean {
  const country = letters.toUpperCase();
  return country.length === 1 ? firstLetters.has(country) : lengths.has(country);
}
