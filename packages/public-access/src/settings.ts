import { z } from 'zod';

/** Browsers keep the cookie of a consent for https only, and on this machine. */
const isPublic = (text: string): boolean =>
  text === '' || /^(https:\/\/[^/]|http:\/\/(localhost|127\.0\.0\.1|\[::1\])([:/]|$))/.test(text);

/** Settings of a service whose responses have URLs of the gateway. */
export const publicUrlSettings = {
  /**
   * The address at which clients reach the gateway. Without it, URLs begin with their path, and no consent is possible.
   */
  PUBLIC_URL: z
    .string()
    .default('')
    .refine(isPublic, 'must be https, or http on this machine')
    .transform((url) => url.replace(/\/+$/, '')),
};
