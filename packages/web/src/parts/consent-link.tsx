import { Time } from './time.tsx';

export interface GivenLink {
  url: string;
  expires_at: string;
}

/** A link for the person who consents. */
export function ConsentLink({ link }: { link: GivenLink | null }) {
  if (link === null) return null;
  return (
    <p role="status">
      <a href={link.url} target="_blank" rel="noreferrer">
        Open the page of consent
      </a>
      , until <Time at={link.expires_at} />
    </p>
  );
}
