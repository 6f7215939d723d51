"""The page: sessions, one session, one field over a session, and roles, as HTML for people who would rather look than read.

Read-only and without a build step: views are made here from the store, written by templates, and work without JavaScript.
"""
