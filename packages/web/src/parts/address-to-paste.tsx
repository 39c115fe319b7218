import { isWithoutOrigin, pastedAddress } from '../format/addresses.ts';
import { Snippet } from './new-secret.tsx';

interface AddressToPasteProps {
  label: string;
  /** A URL of the API's, or only its path. */
  url: string;
}

/** An address of the gateway for another system. */
export function AddressToPaste({ label, url }: AddressToPasteProps) {
  return (
    <div class="to-paste">
      <p>
        <strong>{label}</strong>
      </p>
      <Snippet label={label} text={pastedAddress(url)} />
      {isWithoutOrigin(url) ? (
        <p class="note">
          It begins as the address of this page, since the operator has not set <code>PUBLIC_URL</code>. Other
          systems may reach the gateway at another one.
        </p>
      ) : null}
    </div>
  );
}
