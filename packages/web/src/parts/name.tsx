import { useState } from 'preact/hooks';
import { Icon } from './icon.tsx';

interface NameProps {
  id: string;
  /** Null while it is unknown, or for something deleted. */
  name: string | null | undefined;
  /** A page about it. */
  href?: string;
}

/** The name of a thing, with its id on hover and to copy. Without a name, the last characters of the id. */
export function Name({ id, name, href }: NameProps) {
  const text = name ?? `…${id.slice(-8)}`;
  return (
    <span class="name" title={id}>
      {href === undefined ? text : <a href={href}>{text}</a>}
      <CopyButton label={`Copy the id of ${text}`} text={id} />
    </span>
  );
}

interface CopyButtonProps {
  label: string;
  text: string;
}

/** A small button that copies a text. */
export function CopyButton({ label, text }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <button
      type="button"
      class="quiet copy"
      aria-label={isCopied ? 'Copied' : label}
      title={isCopied ? 'Copied' : label}
      onClick={() => void copy()}
      onBlur={() => setCopied(false)}
    >
      <Icon name={isCopied ? 'check' : 'copy'} />
    </button>
  );
}
