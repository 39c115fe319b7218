import { isSupportedCountry, type CountryCode } from 'libphonenumber-js/max';
import { creditCard } from './credit-card.ts';
import { email } from './email.ts';
import { iban } from './iban.ts';
import { ipAddress } from './ip-address.ts';
import { usSsn, vnCitizenId } from './national-ids.ts';
import { phone } from './phone.ts';
import type { Shape } from './shape.ts';

/** The types of personal data, in the order of the API's documents. */
export const piiTypes = [
  'email',
  'phone',
  'credit_card',
  'iban',
  'ip_address',
  'us_ssn',
  'vn_citizen_id',
] as const;

export type PiiType = (typeof piiTypes)[number];

/** The default types. */
export const defaultPiiTypes = [
  'email',
  'phone',
  'credit_card',
  'iban',
] as const satisfies readonly PiiType[];

/** One for all checks without regions, which share its walk. */
const internationalPhone = phone([]);

/** Settings of the check for personal data. */
export interface PiiSettings {
  types?: readonly PiiType[];
  /** Countries (ISO 3166) with national telephone numbers to find. International ones are found without. */
  regions?: readonly string[];
}

/** The shapes of personal data. Throws a `RangeError` for a region without a numbering plan. */
export function piiShapes({ types = defaultPiiTypes, regions = [] }: PiiSettings): Shape[] {
  const shapes: Record<PiiType, () => Shape> = {
    email: () => email,
    phone: () => (regions.length === 0 ? internationalPhone : phone(regions.map(countryOf))),
    credit_card: () => creditCard,
    iban: () => iban,
    ip_address: () => ipAddress,
    us_ssn: () => usSsn,
    vn_citizen_id: () => vnCitizenId,
  };
  return types.map((type) => shapes[type]());
}

/** Whether a country has national telephone numbers. */
export function hasTelephones(region: string): boolean {
  return isSupportedCountry(region);
}

function countryOf(region: string): CountryCode {
  if (!isSupportedCountry(region)) throw new RangeError(`${region} has no telephone numbering plan`);
  return region;
}
