import { KeySnippets } from './key-snippets.tsx';
import { NewSecret } from './new-secret.tsx';

/** The text of a new key, which is shown once, with its use in programs. */
export function NewKey({ secret, close }: { secret: string; close: () => void }) {
  return (
    <>
      <NewSecret label="API key." secret={secret} />
      <KeySnippets secret={secret} />
      <p class="actions">
        <button type="button" onClick={close}>
          I have stored it
        </button>
      </p>
    </>
  );
}
