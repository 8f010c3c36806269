// What is typed is asked for when typing pauses, not at every letter.
import { useEffect, useState } from 'react';

const TYPING_MS = 400;

export function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
