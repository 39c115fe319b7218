import type { ComponentChildren } from 'preact';
import { Dialog } from './dialog.tsx';

interface DrawerProps {
  title: string;
  /** The side of the screen. Default: `end`. */
  side?: 'start' | 'end';
  onClose: () => void;
  children: ComponentChildren;
}

/** A modal panel at one side of the screen: navigation on a phone, or the details of a row. */
export function Drawer({ title, side = 'end', onClose, children }: DrawerProps) {
  return (
    <Dialog title={title} onClose={onClose} kind={`drawer drawer-${side}`}>
      {children}
    </Dialog>
  );
}
