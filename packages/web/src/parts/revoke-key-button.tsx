import type { ApiKey } from '@gatehouse/contract/keys';
import { ConfirmedButton } from './confirmed-button.tsx';

interface RevokeKeyButtonProps {
  apiKey: Pick<ApiKey, 'id' | 'name'>;
  name:
    | 'POST /v1/api-keys/{id}/revoke'
    | 'POST /v1/me/api-keys/{id}/revoke'
    | 'POST /internal/v1/owner/api-keys/{id}/revoke';
  onDone: () => void;
}

export function RevokeKeyButton({ apiKey: { id, name: keyName }, name, onDone }: RevokeKeyButtonProps) {
  return (
    <ConfirmedButton
      label="Revoke"
      subject={keyName}
      name={name}
      input={{ params: { id }, body: {} }}
      onDone={onDone}
    >
      Programs with this key get 401 within 5 seconds. A revoked key can’t be brought back.
    </ConfirmedButton>
  );
}
