import { Choice } from './fields.tsx';

const overlaps = { '0': 'Expires now', '3600': 'Expires in 1 hour', '86400': 'Expires in 1 day' };

/** Long enough to change a secret at the other side. */
export const usualOverlap: Overlap = '3600';

/** Seconds for which an old secret still works. */
export type Overlap = keyof typeof overlaps;

interface OverlapChoiceProps {
  value: Overlap;
  onChange: (value: Overlap) => void;
}

/** The end of an old secret after its rotation. */
export function OverlapChoice(props: OverlapChoiceProps) {
  return <Choice label="Old secret" {...props} options={overlaps} />;
}
