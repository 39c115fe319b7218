import { KeySnippets } from './key-snippets.tsx';
import { ShownSecret } from './new-secret.tsx';

/** The text of a new key, which is shown once, with its use in programs. */
export function ShownKey({ secret, close }: { secret: string; close: () => void }) {
  return (
    <>
      <ShownSecret label="API key." secret={secret} />
      <KeySnippets secret={secret} />
      <p class="actions">
        <button type="button" onClick={close}>
          I have stored it
        </button>
      </p>
    </>
  );
}
