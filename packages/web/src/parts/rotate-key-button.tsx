import { useState } from 'preact/hooks';
import { useAction } from '../api/use-action.ts';
import { Dialog } from './dialog.tsx';
import { Choice } from './fields.tsx';
import { Problem } from './problem.tsx';

const overlaps = { '0': 'stops at once', '3600': 'works for an hour', '86400': 'works for a day' };

interface RotateKeyButtonProps {
  id: string;
  name: string;
  /** Default: of a key of the tenant. */
  action?: 'POST /v1/api-keys/{id}/rotate' | 'POST /v1/me/api-keys/{id}/rotate';
  onRotated: (key: string) => void;
}

/** Gives a key another secret. The old one may work for a while. */
export function RotateKeyButton(props: RotateKeyButtonProps) {
  const { id, name, action = 'POST /v1/api-keys/{id}/rotate', onRotated } = props;
  const [isOpen, setOpen] = useState(false);
  const [overlap, setOverlap] = useState('3600');
  const rotate = useAction(action);
  const confirm = async (): Promise<void> => {
    const rotated = await rotate.run({ params: { id }, body: { overlap_seconds: Number(overlap) } });
    if (rotated === null) return;
    setOpen(false);
    onRotated(rotated.key);
  };
  return (
    <>
      <button type="button" aria-label={`Rotate ${name}`} onClick={() => setOpen(true)}>
        Rotate
      </button>
      {isOpen ? (
        <Dialog title={`Rotate ${name}?`} onClose={() => setOpen(false)}>
          <Choice label="The old secret" value={overlap} onChange={setOverlap} options={overlaps} />
          <Problem error={rotate.error} />
          <p class="actions">
            <button type="button" class="primary" disabled={rotate.isRunning} onClick={() => void confirm()}>
              Rotate
            </button>
            <button type="button" onClick={() => setOpen(false)}>
              Cancel
            </button>
          </p>
        </Dialog>
      ) : null}
    </>
  );
}
