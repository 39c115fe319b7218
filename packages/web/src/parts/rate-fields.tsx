import { TextField } from './fields.tsx';
import { rates, type Rate } from './tenant-limits.ts';

interface RateFieldsProps {
  /** The props of a field by its name. */
  field: (name: Rate) => { param: string; value: string; onChange: (value: string) => void };
  hint: string;
  /** Whether a word may stand for a limit. */
  isText?: true;
}

/** A field for each limit of requests and tokens, which the API names as a member of `limits`. */
export function RateFields({ field, hint, isText }: RateFieldsProps) {
  return (
    <>
      {(Object.entries(rates) as [Rate, string][]).map(([name, label]) => (
        <TextField
          key={name}
          label={label}
          {...field(name)}
          param={`limits.${name}`}
          {...(isText === undefined && { isNumber: 'whole' as const })}
          hint={hint}
        />
      ))}
    </>
  );
}
