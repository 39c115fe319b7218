const secretBytes = 32;

/** A fresh secret in the form of Standard Webhooks, which each scheme takes. */
export function newSigningSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(secretBytes));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}
