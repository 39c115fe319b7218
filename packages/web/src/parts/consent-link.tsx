import { Time } from './time.tsx';

export interface ConsentLinkState {
  url: string;
  expires_at: string;
}

interface ConsentLinkProps {
  link: ConsentLinkState | null;
  /** Called when the person opens it, in a tab of its own. */
  onOpen?: () => void;
}

/** A link for the person who consents. */
export function ConsentLink({ link, onOpen }: ConsentLinkProps) {
  if (link === null) return null;
  return (
    <p role="status">
      <a href={link.url} target="_blank" rel="noreferrer" onClick={onOpen}>
        Open the consent page
      </a>
      , until <Time at={link.expires_at} />
    </p>
  );
}
