import type { ApiKey } from '@gatehouse/contract/keys';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { ConfirmedButton } from './confirmed-button.tsx';
import { OverlapChoice, type Overlap } from './overlap-choice.tsx';

interface KeyButtonsProps {
  apiKey: Pick<ApiKey, 'id' | 'name' | 'status'>;
  path: '/v1/api-keys' | '/v1/me/api-keys' | '/internal/v1/owner/api-keys';
  onRevoked: () => void;
  /** Called with the new secret; absent for keys without rotation here. */
  onRotated?: ((key: string) => void) | undefined;
  /** Further buttons, before these. */
  children?: ComponentChildren;
}

/** Buttons to rotate and revoke a still valid key. */
export function KeyButtons({ apiKey, path, onRevoked, onRotated, children }: KeyButtonsProps) {
  const { id, name, status } = apiKey;
  const [overlap, setOverlap] = useState<Overlap>('3600');
  if (status === 'revoked' || status === 'expired') return null;
  return (
    <span class="actions">
      {children}
      {onRotated === undefined || path === '/internal/v1/owner/api-keys' ? null : (
        <ConfirmedButton
          label="Rotate"
          subject={name}
          name={`POST ${path}/{id}/rotate`}
          input={{ params: { id }, body: { overlap_seconds: Number(overlap) } }}
          onDone={({ key }) => onRotated(key)}
          isSafe
        >
          <OverlapChoice value={overlap} onChange={setOverlap} />
        </ConfirmedButton>
      )}
      <ConfirmedButton
        label="Revoke"
        subject={name}
        name={`POST ${path}/{id}/revoke`}
        input={{ params: { id }, body: {} }}
        onDone={onRevoked}
      >
        Programs with this key get 401 within 5 seconds. A revoked key can’t be brought back.
      </ConfirmedButton>
    </span>
  );
}
