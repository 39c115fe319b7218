import { useState } from 'preact/hooks';

/** A secret, visible this once. */
export function NewSecret({ label, secret }: { label: string; secret: string }) {
  return (
    <div class="secret">
      <p>
        <strong>{label}</strong> It is shown only now. Store it before you close this.
      </p>
      <Snippet label={label} text={secret} />
    </div>
  );
}

/** Text to copy. */
export function Snippet({ label, text }: { label: string; text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <div class="snippet">
      <pre tabIndex={0} aria-label={label}>
        {text}
      </pre>
      <button type="button" aria-label={`Copy: ${label}`} onClick={() => void copy()}>
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </div>
  );
}
