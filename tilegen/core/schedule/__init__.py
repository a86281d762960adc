"""Schedules: what a user wrote made complete and legal, families of variants, and `auto`."""
