import { z } from 'zod';

const withoutSlash = (url: string): string => url.replace(/\/+$/, '');

/** A setting: the address of a provider's API, without a slash at its end. */
export const providerUrl = (url: string) =>
  z
    .url({ protocol: /^https?$/ })
    .default(url)
    .transform(withoutSlash);
