import { useState } from 'preact/hooks';
import type { EndpointName, InputOf } from '../api/endpoint-types.ts';
import { newSigningSecret } from '../format/signing-secret.ts';
import { ActionForm } from './action-form.tsx';
import { TextField } from './fields.tsx';
import { FormButton } from './form-button.tsx';
import { NewSecret } from './new-secret.tsx';
import { OverlapChoice, usualOverlap } from './overlap-choice.tsx';
import { useFields } from './use-fields.ts';

interface RotateButtonProps<Name extends EndpointName> {
  label: string;
  /** The thing, for people who hear the page. */
  subject: string;
  name: Name;
  input: (secret: string, overlapSeconds: number) => InputOf<Name>;
  /** Whether the other side makes the secret, and a person types it. Default: a fresh one is made. */
  isTheirs?: boolean;
  onDone: () => void;
}

/** A button to replace a signing secret, with an overlap; the new one is shown once. */
export function RotateButton<Name extends EndpointName>(props: RotateButtonProps<Name>) {
  return (
    <FormButton label={props.label} subject={props.subject}>
      {(close) => <RotationForm {...props} onClose={close} />}
    </FormButton>
  );
}

function RotationForm<Name extends EndpointName>(props: RotateButtonProps<Name> & { onClose: () => void }) {
  const { name, input, isTheirs = false, onDone, onClose } = props;
  const { values, field } = useFields(() => ({
    secret: isTheirs ? '' : newSigningSecret(),
    overlap: usualOverlap,
  }));
  const [isDone, setDone] = useState(false);
  if (isDone)
    return (
      <>
        <NewSecret label="New secret." secret={values.secret} />
        <p class="actions">
          <button type="button" onClick={onClose}>
            I have stored it
          </button>
        </p>
      </>
    );
  return (
    <ActionForm
      label="Rotate"
      name={name}
      input={() => input(values.secret, Number(values.overlap))}
      onDone={() => {
        if (isTheirs) onClose();
        else setDone(true);
        onDone();
      }}
    >
      {isTheirs ? (
        <TextField
          label="New secret"
          {...field('secret')}
          maxLength={256}
          isRequired
          hint="The secret that the sender shows"
        />
      ) : null}
      <OverlapChoice {...field('overlap')} />
    </ActionForm>
  );
}
