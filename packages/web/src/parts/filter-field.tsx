import type { TargetedEvent } from 'preact';
import { useId } from 'preact/hooks';
import { useParameter } from '../shell/location.tsx';
import { Hint } from './fields.tsx';

interface FilterFieldProps {
  label: string;
  /** The parameter of the view, and of the API. */
  name: string;
  hint?: string;
  /** A day of the calendar in place of a text. */
  type?: 'date';
}

/** A filter of a list. It applies when the person leaves the field or presses Enter. */
export function FilterField({ label, name, hint, type }: FilterFieldProps) {
  const [value, set] = useParameter(name);
  const id = useId();
  const common = {
    ...{ id, value, autocomplete: 'off' as const },
    'aria-describedby': hint === undefined ? undefined : `${id}-hint`,
    onChange: ({ currentTarget }: TargetedEvent<HTMLInputElement>) => set(currentTarget.value.trim()),
  };
  return (
    <p class="field">
      <label for={id}>{label}</label>
      {type === 'date' ? (
        <input type="date" {...common} />
      ) : (
        <input type="search" maxLength={255} {...common} />
      )}
      <Hint id={id} hint={hint} />
    </p>
  );
}
